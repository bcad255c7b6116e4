"""The end of a program that does not end: who holds it up is named, and it ends all the same.

Everything that was acknowledged is on disk by then.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from types import FrameType

logger = logging.getLogger(__name__)
SECONDS = 9.0


def end_in_time(packages: Mapping[str, str], seconds: float = SECONDS) -> None:
    """End the process after some time, whoever still runs; ``packages`` says whose code that is."""

    def end() -> None:
        for words in _still_running(packages):
            logger.error("given up after %s s: %s still runs", seconds, words)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _still_running(packages: Mapping[str, str]) -> Iterator[str]:
    frames = sys._current_frames()  # noqa: SLF001 - nothing else tells what a thread does
    for thread in threading.enumerate():
        if thread.daemon:
            continue
        plugin = _plugin_of(frames.get(thread.ident or 0), packages)
        yield f"{f'plugin {plugin}, ' if plugin else ''}thread {thread.name}"


def _plugin_of(frame: FrameType | None, packages: Mapping[str, str]) -> str:
    while frame is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in packages:
            return packages[package]
        frame = frame.f_back
    return ""
