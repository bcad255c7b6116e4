"""Who waits for which topic, inside one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import anyio

T = TypeVar("T")


class Bell:
    """What one waiter listens to: rung, then armed again before the next look."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def arm(self) -> None:
        """Forget earlier rings. Must come before looking at the state."""
        if self._event.is_set():
            self._event = anyio.Event()

    def ring(self) -> None:
        """Wake the waiter, now or at its next wait."""
        self._event.set()

    async def wait(self) -> None:
        """Wait until rung."""
        await self._event.wait()


class Wakeups:
    """Bells by topic. Everything here happens on the event loop."""

    def __init__(self) -> None:
        self._bells: dict[str, set[Bell]] = {}
        self.rings = 0
        self.ended = False

    @contextmanager
    def listening(self, topics: Iterable[str]) -> Iterator[Bell]:
        """Hold a bell that rings for any of the topics."""
        bell, topics = Bell(), frozenset(topics)
        for topic in topics:
            self._bells.setdefault(topic, set()).add(bell)
        try:
            yield bell
        finally:
            for topic in topics:
                bells = self._bells[topic]
                bells.discard(bell)
                if not bells:
                    del self._bells[topic]

    def ring(self, topics: Iterable[str]) -> None:
        """Wake everybody who waits for one of the topics."""
        self.rings += 1
        for topic in topics:
            for bell in self._bells.get(topic, ()):
                bell.ring()

    def ring_all(self) -> None:
        """Wake everybody: something changed, and nobody knows what."""
        self.ring(tuple(self._bells))

    def end(self) -> None:
        """Let every present and future wait return at once."""
        self.ended = True
        self.ring_all()

    async def wait_until(
        self, topics: Sequence[str], look: Callable[[], Awaitable[T | None]], seconds: float
    ) -> T | None:
        """Look, wait, look again: see :meth:`aipm_core.store.Store.wait_until`."""
        deadline = anyio.current_time() + seconds
        with self.listening(topics) as bell, _alarm(bell, deadline):
            while True:
                bell.arm()
                if (found := await look()) is not None:
                    return found
                if self.ended:
                    return None
                await bell.wait()
                if anyio.current_time() >= deadline:
                    return None


@contextmanager
def _alarm(bell: Bell, deadline: float) -> Iterator[None]:
    """Ring a bell at a time. A ring is cheaper than a cancellation, and cannot be swallowed."""
    loop = asyncio.get_running_loop()
    timers: list[asyncio.TimerHandle] = []

    def ring() -> None:
        if loop.time() < deadline:  # uvloop counts whole milliseconds and may come early
            timers.append(loop.call_at(deadline, ring))
        else:
            bell.ring()

    timers.append(loop.call_at(deadline, ring))
    try:
        yield
    finally:
        timers[-1].cancel()
