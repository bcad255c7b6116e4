"""For end-to-end tests: the installed program, in real processes, in a directory of its own."""

from __future__ import annotations

import json
import os
import subprocess  # programs are started without a shell  # nosec B404
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import IO, Any

AIPM = Path(sys.executable).with_name("aipm")


@dataclass
class Install:
    """One directory with an ``aipm.toml``, and the program run in it."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, root: Path, toml: str = "") -> Install:
        """Write a settings file; ``toml`` is its content."""
        root.mkdir(parents=True, exist_ok=True)
        (root / "aipm.toml").write_text(toml, encoding="utf-8")
        return cls(root)

    def env(self) -> dict[str, str]:
        """Return the environment of the program: nothing of aipm leaks in from outside."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("AIPM_")}
        return {**kept, "PYTHONWARNINGS": "error", **self.environ}

    def run(self, *args: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
        """Run ``aipm`` with arguments and check its exit code."""
        done = subprocess.run(  # noqa: S603  # nosec B603
            [AIPM, *args],
            cwd=self.root,
            env=self.env(),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        if check is not None and done.returncode != check:
            raise AssertionError(f"aipm {args} ended with {done.returncode}: {done.stderr}")
        return done

    def json(self, *args: str) -> Any:  # noqa: ANN401
        """Run ``aipm … --json`` and return its data."""
        out: Mapping[str, Any] = json.loads(self.run(*args, "--json").stdout)
        return out["data"]

    @contextmanager
    def up(self, *args: str) -> Iterator[Server]:
        """Run ``aipm up`` on a free port until the block ends; then ``log`` is what it wrote."""
        server: Server | None = None
        # A file, not a pipe: nobody reads while the block runs, and a full pipe stops the server.
        written = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        process = subprocess.Popen(  # noqa: S603  # nosec B603
            [AIPM, "up", "--port", "0", "--json", *args],
            cwd=self.root,
            env=self.env(),
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        )
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line:
                process.communicate(timeout=10)
                raise AssertionError(f"aipm up did not start: {_all_of(written)}")
            server = Server(process, json.loads(line))
            yield server
        finally:
            if process.poll() is None:
                process.send_signal(SIGTERM)
            try:
                process.communicate(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            with written:
                if server is not None:
                    server.log = _all_of(written)


@dataclass
class Server:
    """A running ``aipm up`` and what it said when it was ready."""

    process: subprocess.Popen[str]
    ready: Mapping[str, str]
    log: str = ""

    @property
    def url(self) -> str:
        """The base address."""
        return self.ready["url"]

    @property
    def mcp(self) -> str:
        """The address for agents."""
        return self.ready["mcp"]


def _all_of(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
