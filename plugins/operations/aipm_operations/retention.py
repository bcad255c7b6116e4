"""Deletes what is past its time: one sweeper for every table that has a stated life."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

from aipm_core import Owned, PluginContext, Tx, background, iso
from aipm_operations.records import Retention
from aipm_operations.trusted_time import TrustedTime

Forget: TypeAlias = Callable[[Tx, float], Coroutine[Any, Any, int]]
_BATCH = 500  # rows in one transaction, so that no writer waits long
_FIRST = 1.0  # seconds; a short command does not pay for sweeping
_DAY = 86_400.0
_EVENT_DAYS = 30.0  # for a runtime without a plugin that says something else


def old_rows(*statements: str, text: bool = False) -> Forget:
    """Make the ``forget`` of a table from statements with two places: the moment, and how many.

    ``text`` says that the moment is compared with a time that is stored as text.
    """

    async def forget(tx: Tx, before: float) -> int:
        moment = iso(before) if text else before
        return sum([await tx.run(statement, moment, _BATCH) for statement in statements])

    return forget


class Sweeper:
    """Asks every table's owner to forget, now and then, in small batches."""

    def __init__(self, ctx: PluginContext[Any], time: TrustedTime) -> None:
        self._ctx = ctx
        self._time = time

    def records(self) -> list[Retention]:
        """Return what is swept; of two records with one name the later one holds."""
        own = Retention(name="events", days=_EVENT_DAYS, forget=self._ctx.events.forget)
        given = self._ctx.contributions.to("aipm_retention")
        return list({record.name: record for record in (own, *_records(given))}.values())

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Sweep while the runtime lives."""
        works = {f"sweeping {r.name}": partial(self._keep_sweeping, r) for r in self.records()}
        async with background(**works):
            yield

    async def sweep(self, *names: str) -> int:
        """Delete what is past its time, of everything or of some; return how many rows went.

        Nothing goes while the clock cannot be trusted.
        """
        chosen = [r for r in self.records() if not names or r.name in names]
        return sum([await self._sweep(record) for record in chosen])

    async def _keep_sweeping(self, record: Retention) -> None:
        await asyncio.sleep(min(_FIRST, record.every))
        while True:
            await self._sweep(record)
            await asyncio.sleep(record.every)

    async def _sweep(self, record: Retention) -> int:
        now = await self._time.trusted()
        if now is None:
            return 0
        gone, before = 0, now - record.days * _DAY
        while batch := await self._ctx.store.write(lambda tx: _forget(tx, record, before)):
            gone += batch
        return gone


def _records(given: Sequence[Owned[Retention]]) -> list[Retention]:
    return [owned.record for owned in given]


async def _forget(tx: Tx, record: Retention, before: float) -> int:
    gone = await record.forget(tx, before)
    if gone:
        tx.wake(forgotten_topic(record.name))
    return gone


def forgotten_topic(name: str) -> str:
    """Name what is woken when rows of a table are past their time and deleted."""
    return f"forgotten:{name}"
