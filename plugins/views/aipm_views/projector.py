"""Brings the records up to date with what they are made from.

One process at a time does it, whichever comes first: the one whose reader asks for the state, or
one that hears of a change. What was committed before the state is asked for is in it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from time import monotonic

from aipm_core import PluginContext, Tx, background
from aipm_views.api import Ids
from aipm_views.config import ViewsConfig
from aipm_views.marks import MARKED, Marks
from aipm_views.parts import Part, Parts
from aipm_views.records import Change, Overtaken, Records, changes_between, texts_of

logger = logging.getLogger(__name__)
_TURN = "views"
_SHORTEST_PAUSE_SECONDS = 0.005  # what is changed together is written together
_BATCH = 500  # changes in one transaction, so that no writer waits long
_ASKED_SECONDS = 3600.0  # how often it is noted that somebody looks at a project
_READ_SECONDS = 5.0
_RETRY_SECONDS = 30.0  # until a view that could not be read is tried again as a whole


class Projector:
    """The only writer of records."""

    def __init__(
        self, ctx: PluginContext[ViewsConfig], parts: Parts, marks: Marks, records: Records
    ) -> None:
        self._ctx = ctx
        self._store = ctx.store
        self._parts = parts
        self._marks = marks
        self._records = records
        self._begun: dict[str, float] = {}
        self._failed: dict[tuple[str, Part], float] = {}

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Follow what changes while the runtime lives."""
        async with background(views=self._follow):
            yield

    async def _follow(self) -> None:
        while not self._store.ending:
            await self._store.wait_until((MARKED,), self._behind, _RETRY_SECONDS)
            began = monotonic()
            await self.catch_up()
            # A third of the time at most: others read and write meanwhile.
            await asyncio.sleep(max(_SHORTEST_PAUSE_SECONDS, 2 * (monotonic() - began)))

    async def _behind(self) -> bool | None:
        return await self._marks.last(self._store) > 0 or None

    async def ready(self, project_id: str) -> None:
        """Return when everything that was committed before is in the records of a project."""
        if monotonic() >= self._begun.get(project_id, -_ASKED_SECONDS) + _ASKED_SECONDS:
            await self._begin(project_id)
        await self.catch_up()

    async def restart(self, project_id: str) -> None:
        """Begin with a project again."""
        self._begun.pop(project_id, None)
        await self.ready(project_id)

    async def catch_up(self) -> None:
        """Look into everything that is marked now."""
        until = await self._marks.last(self._store)
        if not until:
            return
        async with self._store.turn(_TURN):
            while page := await self._marks.page(self._store, until):
                with suppress(Overtaken):
                    await self._look_into(page.topics, page.last)

    async def _begin(self, project_id: str) -> None:
        """Keep the records of a project from now on, and compare all of them once.

        The head comes first: from then on no change goes by without a mark. A process compares
        once in its life, because the plugins may have been others before it.
        """
        made = await self._store.write(lambda tx: self._records.begin(tx, project_id))
        if made or project_id not in self._begun:
            async with self._store.turn(_TURN):
                while not await self._compared(project_id, logged=not made):
                    made = False  # somebody else was faster, and has readers by now
        self._begun[project_id] = monotonic()

    async def _compared(self, project_id: str, *, logged: bool) -> bool:
        """Compare everything of a project; return whether nobody came in between."""
        parts = self._parts.all
        await self._store.write(lambda tx: self._records.drop_foreign(tx, project_id, parts))
        heads = await self._records.heads(self._store)
        if project_id not in heads:
            return True  # given up at this very moment: the next reader starts anew
        changes = await self._changes({(project_id, part): None for part in parts})
        try:
            await self._write(changes, heads, logged=logged)
        except Overtaken:
            return False
        return True

    async def _look_into(self, topics: Iterable[str], last: int) -> None:
        heads = await self._records.heads(self._store)
        touched = self._parts.touched(topics, heads.keys())
        for failed in [one for one, due in self._failed.items() if monotonic() >= due]:
            touched[failed] = None
            del self._failed[failed]
        await self._write(await self._changes(touched), heads, last=last)

    async def _changes(self, touched: Mapping[tuple[str, Part], Ids]) -> dict[str, list[Change]]:
        found: dict[str, list[Change]] = defaultdict(list)
        for (project_id, part), ids in touched.items():
            found[project_id] += await self._changes_of(project_id, part, ids)
        return found

    async def _changes_of(self, project_id: str, part: Part, ids: Ids) -> Sequence[Change]:
        try:
            async with asyncio.timeout(_READ_SECONDS):
                records = list(await part.read(self._store, project_id, ids))
            after = texts_of(records)
        except Exception:
            logger.exception(
                "plugin %s: view %s of project %s cannot be read",
                *(part.plugin, part.view, project_id),
                extra={"plugin": part.plugin},
            )
            self._failed[project_id, part] = monotonic() + _RETRY_SECONDS
            return ()
        asked = None if ids is None else ids | {record.id for record in records}
        before = await self._records.stored(self._store, project_id, part, asked)
        return changes_between(part, before, after)

    async def _write(
        self,
        changes: Mapping[str, Sequence[Change]],
        heads: dict[str, int],
        *,
        last: int = 0,
        logged: bool = True,
    ) -> None:
        """Write changes in order; the last transaction takes the marks away that told of them."""
        batches = _batches(changes)
        for number, batch in enumerate(batches, 1):
            done = last if number == len(batches) else 0
            heads |= await self._store.write(
                partial(self._unit, batch=batch, heads=heads, last=done, logged=logged)
            )

    async def _unit(
        self,
        tx: Tx,
        batch: Mapping[str, Sequence[Change]],
        heads: Mapping[str, int],
        *,
        last: int,
        logged: bool,
    ) -> dict[str, int]:
        written = {
            project_id: await self._records.write(
                tx, project_id, found, heads[project_id], logged=logged
            )
            for project_id, found in batch.items()
            if project_id in heads
        }
        if last:
            await self._marks.remove(tx, last)
        return written


def _batches(changes: Mapping[str, Sequence[Change]]) -> list[dict[str, list[Change]]]:
    """Cut changes into batches of a bounded size; there is always a last one."""
    batches: list[dict[str, list[Change]]] = [defaultdict(list)]
    size = 0
    for project_id, found in changes.items():
        for change in found:
            if size == _BATCH:
                batches.append(defaultdict(list))
                size = 0
            batches[-1][project_id].append(change)
            size += 1
    return batches
