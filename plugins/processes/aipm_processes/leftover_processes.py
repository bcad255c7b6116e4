"""What is left of a program whose launcher could not clean up: found by a mark in its environment.

A program may kill its own launcher; what it has started then belongs to nobody. Linux shows the
environment a process was started with, and a child inherits it.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

_ROUNDS = 100
_PAUSE_SECONDS = 0.01  # between rounds: a process that was killed is not gone at once


def new_mark() -> str:
    """Make the value that one program and its descendants carry."""
    return secrets.token_hex(8)


def end_marked(variable: str, values: Collection[str]) -> None:
    """Kill every process whose environment has one of these values, until there is none.

    It waits: run it in a thread.
    """
    for _ in range(_ROUNDS):
        found = [process for process, value in marked(variable) if value in values]
        if not found:
            return
        for process in found:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(_PAUSE_SECONDS)


def marked(variable: str) -> list[tuple[int, str]]:
    """List the processes whose environment has a variable, with its value."""
    found: list[tuple[int, str]] = []
    start = f"{variable}=".encode()
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # somebody else's, or just gone
            for entry in environment.read_bytes().split(b"\0"):
                if entry.startswith(start):
                    value = entry.removeprefix(start).decode(errors="replace")
                    found.append((int(environment.parent.name), value))
    return found
