"""``aipm up --reload``: the server in a process of its own, started again when a plugin changes.

For whoever writes a plugin. Looked at are the settings file, the directory of one-file plugins and
the packages of the plugins of others that are on.
"""

from __future__ import annotations

import signal
import subprocess  # the program itself, without a shell  # nosec B404
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

_LOOK_SECONDS = 0.3
_STOP_SECONDS = 20.0
_KINDS = frozenset({".py", ".toml"})
Seen = dict[Path, int]


def run_reloading(options: list[str], watched: Callable[[], list[Path]]) -> int:
    """Serve until somebody stops this process; return the exit code."""
    stopping = False

    def stop(_number: int, _frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    while not stopping:
        seen = look(watched())
        child = _start(options)
        while not stopping and look(watched()) == seen:
            time.sleep(_LOOK_SECONDS)  # a failed start waits here for the file to be mended
        if not stopping:
            sys.stderr.write("aipm: something changed; starting again\n")
        _end(child)
    return 0


def look(places: list[Path]) -> Seen:
    """Return every file that matters, with when it was changed."""
    seen: Seen = {}
    for file in (file for place in places for file in _files(place)):
        try:
            seen[file] = file.stat().st_mtime_ns
        except OSError:
            continue  # it is just being written
    return seen


def _files(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from (file for file in place.rglob("*") if file.suffix in _KINDS)
    else:
        yield place


def _start(options: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  # nosec B603
        [sys.executable, "-m", "aipm_cli", "up", *options], start_new_session=True
    )


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        child.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
