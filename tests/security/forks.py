"""The command line, many times: a process each, forked from one that has imported everything.

``aipm`` takes half a second to import; a fork takes none of that and runs the same code.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_PATIENCE = 60  # seconds; who takes longer is killed, which no command survives as success


@dataclass(frozen=True)
class Done:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


class Forks:
    """A process that forks itself for every command."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    def run(self, *words: str) -> Done:
        """Run ``aipm`` with these words; they may hold anything but NUL."""
        asked, told = self._process.stdin, self._process.stdout
        assert asked is not None
        assert told is not None
        asked.write(json.dumps(words).encode() + b"\n")
        asked.flush()
        return Done(**json.loads(told.readline()))


@contextmanager
def forks(cwd: Path, env: dict[str, str]) -> Iterator[Forks]:
    """Start the process; it ends with the block."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.security.forks"],
        cwd=cwd,
        env={**env, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        yield Forks(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0


def _serve() -> None:
    from importlib.metadata import entry_points

    from aipm_cli import discovery
    from aipm_cli.root import GROUP

    import aipm_core.runtime

    assert aipm_core.runtime
    loaded = [point.load() for point in entry_points(group=GROUP)]
    loaded += [point.load() for point in entry_points(group=discovery.GROUP)]
    for line in sys.stdin.buffer:
        sys.stdout.write(json.dumps(_forked(json.loads(line))) + "\n")
        sys.stdout.flush()


def _forked(words: Sequence[str]) -> dict[str, object]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _become(list(words), out, err)
        _, status = os.waitpid(child, 0)
        return {"code": os.waitstatus_to_exitcode(status), "out": _text(out), "err": _text(err)}


def _become(words: list[str], out: IO[bytes], err: IO[bytes]) -> None:
    """Be ``aipm`` from here on."""
    signal.alarm(_PATIENCE)
    for file, stream in ((out, 1), (err, 2)):
        os.dup2(file.fileno(), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    code = 70
    try:
        from aipm_cli import main

        sys.argv = ["aipm", *words]
        code = main()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - the end of this process, as it would be aipm's
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


if __name__ == "__main__":
    _serve()
