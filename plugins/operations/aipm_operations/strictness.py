"""Ends the call that holds up the event loop: ``aipm up --strict``.

The watchdog looks from a thread of its own and cannot raise in another. It sends the loop's thread
a signal; the handler runs there, between two steps of the code that blocks, and raises, if that
code is still the one that was seen and runs where whatever it raises is caught and named: a call, a
route, a sink, background work. Code that is not Python is ended when it returns.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from aipm_operations.stacks import called_by_loop, frames_of

logger = logging.getLogger(__name__)
_SIGNAL = getattr(signal, "SIGURG", None)  # ignored where nobody handles it
# Who catches and names what a plugin raises.
_CATCHING = frozenset(
    {
        ("aipm_core.pipeline.call", "_ask"),
        ("aipm_core.background_work", "kept_going"),
        ("aipm_http_server.contained_route", "__call__"),
        ("aipm_store.sink_feeds", "_show"),
    }
)


class HeldUp(RuntimeError):
    """The code held up the event loop and was ended."""


class Strictness:
    """Raises in the thread it is made in, which is the loop's."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._thread = threading.get_ident()
        self._seen: FrameType | None = None

    def end(self, outer: FrameType | None) -> None:
        """End what the loop is running, if that is still this; called from another thread."""
        self._seen = outer
        if _SIGNAL is not None and outer is not None:
            signal.pthread_kill(self._thread, _SIGNAL)

    @contextmanager
    def armed(self) -> Iterator[None]:
        """Listen while the block runs; only a program's main thread can."""
        if _SIGNAL is None or threading.current_thread() is not threading.main_thread():
            logger.warning("--strict works in a program of its own only, and not on this system")
            yield
            return
        before = signal.signal(_SIGNAL, self._on_signal)
        try:
            yield
        finally:
            self._seen = None
            signal.signal(_SIGNAL, before)

    def _on_signal(self, _number: int, innermost: FrameType | None) -> None:
        frames = called_by_loop(frames_of(innermost))
        seen, self._seen = self._seen, None
        if seen is None or not frames or frames[0] is not seen:
            return  # it has returned meanwhile
        if any((_module(frame), frame.f_code.co_name) in _CATCHING for frame in frames):
            raise HeldUp(f"held up the event loop for {self._limit} s and was ended (--strict)")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
