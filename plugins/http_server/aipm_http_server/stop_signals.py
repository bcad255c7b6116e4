"""SIGTERM and SIGINT as something to wait for."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager

_STOPPING = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_signals() -> Iterator[AsyncIterator[signal.Signals]]:
    """Receive SIGTERM and SIGINT instead of dying of them; afterwards they are ignored.

    A second one must not cut short what the first one began. The loop's own handlers would leave
    a moment, after they are removed, in which a signal kills.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[signal.Signals] = asyncio.Queue()

    def received(number: int, _: object) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, signal.Signals(number))

    async def each() -> AsyncGenerator[signal.Signals]:
        while True:
            yield await queue.get()

    for which in _STOPPING:
        signal.signal(which, received)
    try:
        yield each()
    finally:
        for which in _STOPPING:
            signal.signal(which, signal.SIG_IGN)
