"""Becomes another program that dies with its parent. Run as a script, with nothing else loaded.

A server that is killed cannot end what it has started; the kernel does it instead, where it can.
"""

from __future__ import annotations

import ctypes
import os
import sys

_SET_PARENT_DEATH_SIGNAL = 1
_KILL = 9
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


def become(parent: int, words: list[str]) -> None:
    """Ask for the signal, make sure that the parent still lives, and become the program."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:  # Linux
        prctl(_SET_PARENT_DEATH_SIGNAL, _KILL)
    if os.getppid() != parent:
        sys.exit(_NOT_EXECUTABLE)
    try:
        os.execvp(words[0], words)  # noqa: S606 - that no shell is started is the point  # nosec B606
    except OSError as error:
        sys.stderr.write(f"{words[0]}: {error.strerror}\n")
        sys.exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE)


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])
