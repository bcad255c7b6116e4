"""Costly work shared by everybody who asks for it at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Coalesced(Generic[T, R]):
    """Runs ``work`` in rounds: who comes while a round runs takes part in the next one.

    A caller that is cancelled leaves the round to the others.
    """

    def __init__(self, work: Callable[[Sequence[T]], Coroutine[Any, Any, R]]) -> None:
        self._work = work
        self._next: tuple[list[T], asyncio.Future[R]] | None = None
        self._runner: asyncio.Task[None] | None = None

    async def join(self, *items: T) -> R:
        """Take part in the next round to start, and return its result."""
        if self._next is None:
            self._next = ([], asyncio.get_running_loop().create_future())
        gathered, result = self._next
        gathered.extend(items)
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        return await asyncio.shield(result)

    async def finish(self) -> None:
        """Wait until nothing runs any more."""
        if self._runner is not None:
            await asyncio.wait([self._runner])

    async def _run(self) -> None:
        while self._next is not None:
            (items, result), self._next = self._next, None
            try:
                result.set_result(await self._work(items))
            except Exception as error:  # noqa: BLE001 - goes to everybody in the round
                result.set_exception(error)
                result.exception()  # it may be that nobody waits any more
            except asyncio.CancelledError:
                result.cancel()
                raise
