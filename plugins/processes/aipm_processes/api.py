"""What plugins that start programs use."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from aipm_processes.leftover_processes import end_marked, marked, new_mark
from aipm_processes.lock_file import LockFile, is_abandoned

__all__ = ["LockFile", "end_marked", "is_abandoned", "launched", "marked", "new_mark"]
_LAUNCHER = str(Path(__file__).with_name("launcher.py"))


def launched(words: Sequence[str], grace_seconds: float = 0.0) -> list[str]:
    """Return the command line that runs a program behind its launcher.

    The launcher ends like the program does, and ends everything the program has started. Told by
    SIGTERM, or when this process dies, it tells the program to end, and kills what is left after
    the grace.
    """
    how = (sys.executable, "-I", "-S", _LAUNCHER, str(os.getpid()), str(grace_seconds))
    return [*how, *words]
