"""Runs one program and ends whatever it has started. Run as a script, with nothing else loaded.

It stands between the server and the program, because a server that is killed cannot end anything
itself. On Linux orphans of the program become its children, also those that have left their
session or their group, so that none gets away; elsewhere the program's group is what it can reach.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys
import time
from contextlib import suppress

_SET_PARENT_DEATH_SIGNAL, _SET_CHILD_SUBREAPER = 1, 36
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126
_ROUND_SECONDS = 0.05  # seconds until what is left is looked for again


def launch(parent: int, grace_seconds: float, words: list[str]) -> None:
    """Run a program until it ends or somebody says so; then end all it has left, and end alike."""
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    _control(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    _control(_SET_CHILD_SUBREAPER, 1)
    if os.getppid() != parent:
        sys.exit(_NOT_EXECUTABLE)
    program = os.fork()
    if program == 0:
        _become(words)
    status = _wait(program)
    if status is None and grace_seconds:
        status = _wait_for_its_own_end(program, grace_seconds)
    _end_all(program)
    _end_like(status)


def _become(words: list[str]) -> None:
    os.setsid()
    _control(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        os.execvp(words[0], words)  # noqa: S606 - that no shell is started is the point  # nosec B606
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode(errors="surrogateescape"))
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE)


def _wait(program: int) -> int | None:
    """Return how the program ended; ``None`` if it is to be ended."""
    while signal.sigwait({signal.SIGCHLD, signal.SIGTERM}) == signal.SIGCHLD:
        for child, status in _reaped():
            if child == program:
                return status
    return None


def _wait_for_its_own_end(program: int, seconds: float) -> int | None:
    """Tell a program to end; return how it did, or ``None`` if it did not in time."""
    with suppress(OSError):
        os.killpg(program, signal.SIGTERM)
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        signal.sigtimedwait({signal.SIGCHLD}, left)
        for child, status in _reaped():
            if child == program:
                return status
    return None


def _reaped() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(ended)
    return found


def _end_all(program: int) -> None:
    """Kill until nothing is left: what is forked meanwhile is found in the next round."""
    _kill(-program)
    while sum(map(_kill, _descendants())):
        signal.sigtimedwait({signal.SIGCHLD}, _ROUND_SECONDS)
        _reaped()


def _kill(process: int) -> bool:
    """Kill a process or a group; ``False`` if it is gone, or runs as somebody else."""
    try:
        os.kill(process, signal.SIGKILL)
    except OSError:
        return False
    return True


def _descendants() -> list[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if sys.platform == "linux" else ():  # noqa: PTH208 - starts fast
        with suppress(OSError, ValueError):  # it has just ended, or is no process
            with open(f"/proc/{int(name)}/stat", "rb") as file:  # noqa: PTH123 - as above
                state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                parents[int(name)] = int(parent)
    found = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found - {os.getpid()})


def _end_like(status: int | None) -> None:
    """Tell how the program ended by ending the same way."""
    if status is not None and not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    number = signal.SIGKILL if status is None else os.WTERMSIG(status)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its own, if any
    with suppress(OSError, ValueError):  # two of them cannot be changed, and need not
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _control(option: int, value: int) -> None:
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:  # Linux
        prctl(option, value)


if __name__ == "__main__":
    launch(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3:])
