"""Shows events to the sinks of plugins, each from a place of its own in the log.

A sink's place is kept in the store, so it is shown every event at least once and in order, whoever
wrote it, across restarts. One process at a time shows them: it holds a lease on the place, which
another takes over when the process is gone. A sink for each process starts from now instead.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable
from typing import Final, TypeAlias

import orjson

from aipm_core import Clock, Event, EventSink, Json, Migration, Owned, Row, Store, Tx, within

logger = logging.getLogger(__name__)
ALL = "events"
Hide: TypeAlias = Callable[[Json], Json]
_PAGE = 50
_WAIT_SECONDS = 3600.0
_LEASE: Final = 10.0  # seconds
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds until a sink that failed is asked again

PLACES = Migration(
    name="0002_sink_places",
    sql="""
        create table sink_places (
            plugin text not null,
            name text not null,
            place integer not null,
            holder text not null default '',
            held_until real not null default 0,
            primary key (plugin, name)
        );
    """,
)


class SinkFeed:
    """One sink, and where it stands."""

    def __init__(self, store: Store, clock: Clock, owned: Owned[EventSink], hide: Hide) -> None:
        self._store = store
        self._clock = clock
        self._owned = owned
        self._hide = hide
        self._key = (owned.plugin, owned.record.name)
        self._holder = secrets.token_hex(8)
        self._until = 0.0
        self._place = 0
        self._pause = _SHORTEST_PAUSE

    async def run(self) -> None:
        """Show events until the program stops."""
        if self._owned.record.each_process:
            await self._show_from_now()
        else:
            await self._show_from_kept_place()

    async def _show_from_now(self) -> None:
        last = await self._newest()
        while not self._store.ending:
            rows = await self._store.wait_until(
                (ALL,),
                lambda last=last: self._after(last),  # type: ignore[misc]
                _WAIT_SECONDS,
            )
            for row in rows or ():
                last = row["id"]
                await self._show(row)

    async def _show_from_kept_place(self) -> None:
        newest = await self._newest()
        begin = (
            "insert into sink_places (plugin, name, place) values (?, ?, ?) on conflict do nothing"
        )
        await self._store.write(lambda tx: tx.run(begin, *self._key, newest))
        try:
            while not self._store.ending:
                rows = await self._store.wait_until((ALL, self._topic), self._look, _LEASE)
                taken = bool(rows) and await self._store.write(self._take)
                if rows and taken:
                    await self._show_page(rows)
        finally:
            await self._store.write(self._let_go)

    @property
    def _topic(self) -> str:
        return f"sink:{self._key[0]}:{self._key[1]}"

    async def _newest(self) -> int:
        row = await self._store.one("select coalesce(max(id), 0) as last from events")
        return int(row["last"]) if row else 0

    async def _look(self) -> list[Row] | None:
        """Return what is to be shown, unless another process is at it."""
        row = await self._store.one(
            "select place, holder, held_until from sink_places where plugin = ? and name = ?",
            *self._key,
        )
        if row is None or (row["holder"] != self._holder and row["held_until"] > self._clock()):
            return None
        return await self._after(row["place"])

    async def _after(self, place: int) -> list[Row] | None:
        rows = await self._store.all(
            "select * from events where id > ? order by id limit ?", place, _PAGE
        )
        return rows or None

    async def _take(self, tx: Tx) -> bool:
        self._until = self._clock() + _LEASE
        taken = await tx.run(
            "update sink_places set holder = ?, held_until = ? where plugin = ? and name = ? "
            "and (holder = ? or held_until <= ?)",
            *(self._holder, self._until, *self._key, self._holder, self._clock()),
        )
        return taken == 1

    async def _show_page(self, rows: list[Row]) -> None:
        """Show what can be shown in half a lease; keep the place behind it."""
        failed = False
        for row in rows:
            failed = not await self._show(row)
            if failed:
                break
            self._place, self._pause = row["id"], _SHORTEST_PAUSE
            if self._clock() > self._until - _LEASE / 2:
                break
        await self._store.write(self._keep)
        if failed:
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    async def _keep(self, tx: Tx) -> None:
        await tx.run(
            "update sink_places set place = ? where plugin = ? and name = ? and holder = ? "
            "and place < ?",
            *(self._place, *self._key, self._holder, self._place),
        )

    async def _let_go(self, tx: Tx) -> None:
        """Leave the place to others; what was shown last may not have been kept yet."""
        await self._keep(tx)
        await tx.run(
            "update sink_places set held_until = 0 where plugin = ? and name = ? and holder = ?",
            *(*self._key, self._holder),
        )
        tx.wake(self._topic)

    async def _show(self, row: Row) -> bool:
        plugin, sink = self._owned.plugin, self._owned.record
        try:
            await within(sink.deadline, sink.send(self._event(row)))
        except Exception:
            words, about = "plugin %s: event sink %s failed at evt_%s", {"plugin": plugin}
            logger.exception(words, plugin, sink.name, row["id"], extra=about)
            return False
        return True

    def _event(self, row: Row) -> Event:
        stream = row["stream"]
        return Event(
            type=row["type"],
            payload=self._hide(orjson.loads(row["payload"])),
            session_id=stream or None,
            system=not stream,
            id=f"evt_{row['id']}",
            timestamp=row["created_at"],
        )
