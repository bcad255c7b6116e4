"""Reports code that holds up everybody: the event loop, or the thread that writes.

A thread of its own looks at the stacks ten times a second; a call pays nothing for it, and an idle
loop is not woken. A loop that is seen at work is asked for a sign, and whoever keeps it from giving
one is named. Code that also keeps the interpreter to itself, a bad regular expression for example,
keeps this thread from looking. The interpreter hands over when that code returns, mostly while
its frame still stands; the processor time it has used tells it from a machine that slept.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from types import FrameType

from aipm_store.api import WRITER_THREAD, unit_of

from aipm_core import PluginContext
from aipm_operations.metrics import Metrics
from aipm_operations.settings import TelemetrySettings
from aipm_operations.stacks import Culprit, Owners, called_by_loop, frames_of
from aipm_operations.strictness import Strictness

logger = logging.getLogger(__name__)
LIMIT = 0.5  # seconds
_TICK = 0.1  # seconds
_WORKED = 0.25  # seconds of processor time: it was not the machine that slept


class Watched:
    """A thread, and since when the same piece of work has been seen in it."""

    def __init__(self, processor: Callable[[], float]) -> None:
        self._processor = processor
        self._used = processor()
        self._work: object = None
        self._since = 0.0
        self._told: object = None

    def too_long(self, now: float, late: float, work: object) -> bool:
        """Return whether a piece of work goes on for too long, once for each.

        The time by which whoever asks is late counts only if work was done in it.
        """
        before, self._used = self._used, self._processor()
        counts = self._used - before >= _WORKED
        if work is not self._work:
            self._work, self._since = work, now - (late if counts else 0.0)
        elif not counts:
            self._since += late
        if work is None or work is self._told or now - self._since < LIMIT - _TICK:
            return False
        self._told = work
        return True


class Watching:
    """Watches the event loop while the program serves, and counts what it finds."""

    def __init__(self, ctx: PluginContext[TelemetrySettings], metrics: Metrics) -> None:
        self._ctx = ctx
        self._metrics = metrics

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Watch until the block is left."""
        loop = asyncio.get_running_loop()

        def report(what: str, culprit: Culprit) -> None:
            tell_of(what, culprit)
            labels = (("plugin", culprit.plugin),)
            loop.call_soon_threadsafe(self._metrics.count, "blocked", labels)

        packages = {package: name for name, package in self._ctx.gateway.plugins().items()}
        with ExitStack() as opened:
            strictness = Strictness(LIMIT) if self._ctx.config.strict else None
            if strictness is not None:
                opened.enter_context(strictness.armed())
            end = strictness.end if strictness else None
            opened.enter_context(Watchdog(Owners(packages), report, end).watching())
            yield


class Watchdog:
    """Looks at the loop it is made in, and at whoever writes to the store."""

    def __init__(
        self,
        owners: Owners,
        report: Callable[[str, Culprit], None],
        end: Callable[[FrameType | None], None] | None = None,
    ) -> None:
        self._owners = owners
        self._report = report
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._loop_watched = Watched(_processor_time_of(self._loop_thread))
        self._writers: dict[int, Watched] = {}
        self._outer: FrameType | None = None
        self._piece: object = None
        self._answered = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="aipm-watchdog", daemon=True)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look until the block is left."""
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()

    def _watch(self) -> None:
        began = time.monotonic()
        while not self._over.wait(_TICK):
            stacks = sys._current_frames()  # noqa: SLF001 - at once: the others move on
            now = time.monotonic()
            late = max(0.0, now - began - _TICK)
            try:
                self._look_at_loop(stacks, now, late)
                self._look_at_writers(stacks, now, late)
            except Exception:
                logger.exception("looking for blocking code failed")
            del stacks  # frames keep alive what is in them
            began = time.monotonic()

    def _look_at_loop(self, stacks: Mapping[int, FrameType], now: float, late: float) -> None:
        frames = called_by_loop(frames_of(stacks.get(self._loop_thread)))
        outer = frames[0] if frames else None
        if self._answered.is_set() or outer is not self._outer:
            self._outer, self._piece = outer, None
        if outer is not None and self._piece is None:
            self._piece = object()
            self._answered.clear()
            self._loop.call_soon_threadsafe(self._answered.set)
        if self._loop_watched.too_long(now, late, self._piece):
            self._report("the event loop", self._owners.culprit(frames))
            if self._end is not None:
                self._end(outer)

    def _look_at_writers(self, stacks: Mapping[int, FrameType], now: float, late: float) -> None:
        for thread in (
            one.ident or 0 for one in threading.enumerate() if one.name == WRITER_THREAD
        ):
            transaction, frames = unit_of(frames_of(stacks.get(thread)))
            watched = self._writers.setdefault(thread, Watched(time.process_time))
            if watched.too_long(now, late, transaction):
                self._report("the writer of the store", self._owners.culprit(frames))


def _processor_time_of(thread: int) -> Callable[[], float]:
    """Read how long a thread has worked, or at least how long the process has."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def tell_of(what: str, culprit: Culprit) -> None:
    """Write into the log who holds up what."""
    about = {"plugin": culprit.plugin}
    words = "plugin %s: %s has held up %s for %s s, at %s"
    values = (culprit.plugin, culprit.record, what, LIMIT, culprit.line)
    record = logger.makeRecord(
        *(logger.name, logging.WARNING, __file__, 0, words, values, None),
        extra=about,
        sinfo=culprit.stack,
    )
    logger.handle(record)
