"""One transaction, and the rule that a unit awaits nothing else.

All servers wait while a unit runs; one that waited for a person or a network would stop them all.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from aipm_core import Row
from aipm_store.postgres.dialect import numbered
from aipm_store.postgres.statements import allowed
from aipm_store.statement_guard import Over

T = TypeVar("T")


class PostgresTx:
    """A transaction on the writer's connection."""

    def __init__(self, connection: Any) -> None:  # noqa: ANN401
        self._connection = connection
        self.topics: set[str] = set()
        self.asking = False

    def end(self) -> None:
        """Refuse every further use."""
        self._connection = Over()

    async def one(self, sql: str, /, *params: object) -> Row | None:
        """Return the first row, if there is one."""
        with self._asking():
            row: Row | None = await self._connection.fetchrow(numbered(allowed(sql)), *params)
        return row

    async def all(self, sql: str, /, *params: object) -> list[Row]:
        """Return every row."""
        with self._asking():
            rows: list[Row] = await self._connection.fetch(numbered(allowed(sql)), *params)
        return rows

    async def run(self, sql: str, /, *params: object) -> int:
        """Execute, and return how many rows changed."""
        with self._asking():
            status: str = await self._connection.execute(numbered(allowed(sql)), *params)
        last = status.rpartition(" ")[2]
        return int(last) if last.isdigit() else 0

    def wake(self, *topics: str) -> None:
        """Wake waiters after the commit."""
        self.topics.update(topics)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        self.asking = True
        try:
            yield
        finally:
            self.asking = False


async def driven(
    unit: Callable[[PostgresTx], Coroutine[Any, Any, T]], transaction: PostgresTx
) -> T:
    """Run a unit to its end; refuse one that waits for anything but its transaction."""
    return await _watched(unit(transaction), transaction)


@types.coroutine
def _watched(work: Coroutine[Any, Any, T], transaction: PostgresTx) -> Generator[Any, Any, T]:
    step, value = work.send, None
    while True:
        try:
            pending = step(value)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]
        if not transaction.asking:
            work.close()
            raise RuntimeError("a write unit may await its transaction and nothing else")
        try:
            step, value = work.send, (yield pending)
        except BaseException as error:  # noqa: BLE001 - handed on to the unit
            step, value = work.throw, error
