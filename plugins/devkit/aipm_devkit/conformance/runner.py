"""Asks a child process about a plugin, whatever the plugin does to that process."""

from __future__ import annotations

import json
import os
import signal
import subprocess  # programs are started without a shell  # nosec B404
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from aipm_devkit.conformance.target import locate

PATIENCE = 60.0
_CLEAN = "the process ends by itself"


@dataclass(frozen=True, slots=True)
class Check:
    """One answer."""

    plugin: str
    name: str
    ok: bool
    message: str


def examine(target: str, patience: float = PATIENCE) -> list[Check]:
    """Run every check on a distribution's directory or an installed plugin."""
    found = locate(target)
    with tempfile.TemporaryDirectory(prefix="aipm-check-") as place:
        report = Path(place) / "report"
        report.touch()
        ending, printed = _run(str(found), report, patience)
        checks, current = _read(report.read_text(encoding="utf-8").splitlines())
    if current is not None:
        checks.append(Check(*current, ok=False, message=f"the plugin {ending} here"))
    return [*checks, _quiet(printed), Check("", "ends", ok=not ending, message=ending or _CLEAN)]


def _quiet(printed: str) -> Check:
    if not printed.strip():
        return Check("", "quiet", ok=True, message="nothing is printed")
    line = printed.strip().splitlines()[0][:80]
    told = f"it prints {line!r}; standard output belongs to the protocol of `aipm mcp`"
    return Check("", "quiet", ok=False, message=told)


def _run(target: str, report: Path, patience: float) -> tuple[str, str]:
    """Run the child in a place and a process group of its own; say what was wrong with its end."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith("AIPM_")}
    child = subprocess.Popen(  # noqa: S603 - our own module, and a path as an argument  # nosec B603
        [sys.executable, "-P", "-m", __package__, target, str(report)],
        cwd=report.parent,
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        printed, _ = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        _end(child)
        return f"did not end the process within {patience:g} s", child.communicate()[0]
    finally:
        _end(child)
    code = child.returncode
    return f"ended the process with exit code {code}" if code else "", printed


def _end(child: subprocess.Popen[str]) -> None:
    """Leave no process behind, not even one the plugin has started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _read(lines: Iterable[str]) -> tuple[list[Check], tuple[str, str] | None]:
    """Return the answers, and the question that was never answered."""
    checks: list[Check] = []
    current: tuple[str, str] | None = None
    for line in lines:
        entry = json.loads(line)
        if "begin" in entry:
            current = (entry["plugin"], entry["begin"])
        else:
            checks.append(Check(entry["plugin"], entry["name"], entry["ok"], entry["message"]))
            current = None
    return checks, current
