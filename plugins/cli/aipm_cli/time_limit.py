"""A time for plain code of plugins to return in: imports, constructors, hooks at the start."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aipm_core import PluginError

SECONDS = 20.0


@contextmanager
def limited(plugin: str, what: str) -> Iterator[None]:
    """Raise inside the block when its time is over, naming whose code it is.

    A timer of the system interrupts it, which works on the main thread only, and not while code
    that is no Python keeps the interpreter to itself. An earlier timer goes on afterwards.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(*_: object) -> None:
        raise PluginError(plugin, f"{what} did not return within {SECONDS:g} s")

    before = signal.signal(signal.SIGALRM, give_up)
    left, _ = signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)
        signal.signal(signal.SIGALRM, before)
