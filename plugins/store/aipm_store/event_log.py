"""The event log: durable, numbered per session, readable only through a port bound to a session.

A subscriber holds a place in the log, not a queue: a slow one falls behind and catches up, nobody
waits for it, and nothing is kept in memory for it. Events written by another process arrive too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence

import orjson

from aipm_core import (
    Clock,
    Event,
    EventLog,
    EventSink,
    Json,
    Migration,
    Owned,
    Reader,
    Row,
    Store,
    StoredEvent,
    TooOld,
    Tx,
    iso,
)
from aipm_core.host import kept_going, owner
from aipm_store.sink_feeds import ALL, PLACES, Hide, SinkFeed

SYSTEM = ""  # the stream of system events; a session id is never empty
_PAGE = 200
_WAIT_SECONDS = 3600.0
_SWEPT_AT_ONCE = 500
_KEPT = 10_000  # events of one session

MIGRATIONS = [
    Migration(
        name="0001_events",
        sql="""
            create table events (
                id integer primary key autoincrement,
                stream text not null,
                seq integer not null,
                type text not null,
                payload text not null,
                created_at text not null
            );
            create unique index events_stream on events (stream, seq);
            create index events_created on events (created_at);
            create table event_streams (stream text primary key, last_seq integer not null);
        """,
    ),
    PLACES,
]


def with_log(migrations: Mapping[str, Sequence[Migration]]) -> dict[str, Sequence[Migration]]:
    """Add the tables of the log to those of the plugins; the kernel's name stands for them."""
    return {"aipm_core": MIGRATIONS, **migrations}


class SqlEventLog:
    """Writes events and hands out places to read from."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.hide: Hide = _as_it_is

    async def publish(self, event: Event) -> None:
        """Write one event in a transaction of its own."""
        await self._store.write(lambda tx: self.record(tx, event))

    async def record(self, tx: Tx, event: Event) -> None:
        """Write one event together with the change it tells of."""
        stream = event.session_id or SYSTEM
        row = await tx.one(
            "insert into event_streams (stream, last_seq) values (?, 1) on conflict (stream) "
            "do update set last_seq = event_streams.last_seq + 1 returning last_seq",
            stream,
        )
        await tx.run(
            "insert into events (stream, seq, type, payload, created_at) values (?, ?, ?, ?, ?)",
            stream,
            row["last_seq"] if row else 1,
            event.type,
            orjson.dumps(event.payload).decode(),
            iso(self._clock()),
        )
        tx.wake(ALL, _topic(stream))

    async def last_seq(self, session_id: str | None, db: Reader | None = None) -> int:
        """Return the number of the newest event of a session, or of system news."""
        row = await (db or self._store).one(
            "select last_seq from event_streams where stream = ?", session_id or SYSTEM
        )
        return int(row["last_seq"]) if row else 0

    async def kept(self, session_id: str, *types: str) -> list[StoredEvent]:
        """Return the last events of some types that a session still has, oldest first."""
        places = ", ".join("?" for _ in types)
        rows = await self._store.all(
            f"select * from events where stream = ? and type in ({places}) "
            "order by seq desc limit ?",
            *(session_id, *types, _PAGE),
        )
        return [self._stored(row) for row in reversed(rows)]

    async def follow(
        self, session_id: str, after: int | None = None
    ) -> AsyncGenerator[StoredEvent]:
        """Yield a session's events after ``after`` (default: from now on), and system events.

        Raises ``TooOld`` when events after that place are no longer kept, also for a reader that
        fell so far behind. Ends when the program stops.
        """
        if not session_id:
            raise ValueError("a subscriber is bound to a session")
        own = await self.last_seq(session_id) if after is None else after
        news = await self.last_seq(None)
        if after is not None:
            await self._check_kept(session_id, after)
        while not self._store.ending:
            page = await self._store.wait_until(
                (_topic(session_id), _topic(SYSTEM)),
                lambda own=own, news=news: self._next(session_id, own, news),  # type: ignore[misc]
                _WAIT_SECONDS,
            )
            for row in page or ():
                if row["stream"] == SYSTEM:
                    news = row["seq"]
                elif row["seq"] != own + 1:
                    raise TooOld(session_id)
                else:
                    own = row["seq"]
                yield self._stored(row)

    async def news(self, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Yield system events only. Ends when the program stops."""
        place = await self.last_seq(None) if after is None else after
        while not self._store.ending:
            page = await self._store.wait_until(
                (_topic(SYSTEM),),
                lambda place=place: self._news(place),  # type: ignore[misc]
                _WAIT_SECONDS,
            )
            for row in page or ():
                place = row["seq"]
                yield self._stored(row)

    async def _next(self, session_id: str, own: int, news: int) -> list[Row] | None:
        rows = await self._store.all(
            "select * from (select * from events where stream = ? and seq > ? "
            "order by seq limit ?) as own union all select * from (select * from events "
            "where stream = ? and seq > ? order by seq limit ?) as news order by id",
            *(session_id, own, _PAGE, SYSTEM, news, _PAGE),
        )
        return rows or None

    async def _news(self, place: int) -> list[Row] | None:
        rows = await self._store.all(
            "select * from events where stream = ? and seq > ? order by seq limit ?",
            *(SYSTEM, place, _PAGE),
        )
        return rows or None

    async def _check_kept(self, session_id: str, after: int) -> None:
        row = await self._store.one(
            "select min(seq) as oldest from events where stream = ?", session_id
        )
        last = await self.last_seq(session_id)
        oldest = row["oldest"] if row and row["oldest"] is not None else last + 1
        if after > last or after + 1 < oldest:
            raise TooOld(session_id)

    async def forget(self, tx: Tx, before: float, keep: int = _KEPT) -> int:
        """Forget events older than ``before`` and all but the last ``keep`` of each session.

        A bounded number at a time, so that nobody waits for it; returns how many went.
        """
        return await _forget(tx, iso(before), keep)

    async def forget_session(self, tx: Tx, session_id: str) -> None:
        """Forget all events of a session that is over for good, and their count."""
        await tx.run("delete from events where stream = ?", session_id)
        await tx.run("delete from event_streams where stream = ?", session_id)

    async def feed(self, sinks: Sequence[Owned[EventSink]]) -> None:
        """Show every event of the store to the sinks until the program stops."""

        async def show(owned: Owned[EventSink]) -> None:
            owner.set(owned.plugin)
            feed = SinkFeed(self._store, self._clock, owned, self.hide)
            await kept_going(f"event sink {owned.record.name}", feed.run)

        async with asyncio.TaskGroup() as tasks:
            for owned in sinks:
                tasks.create_task(show(owned))

    def _stored(self, row: Row) -> StoredEvent:
        return StoredEvent(
            id=f"evt_{row['id']}",
            seq=row["seq"],
            type=row["type"],
            timestamp=row["created_at"],
            scope="session" if row["stream"] else "system",
            payload=self.hide(orjson.loads(row["payload"])),
        )


def hide_in_events(log: EventLog, hide: Hide) -> None:
    """Let everybody who reads the log read what a function leaves of it."""
    if isinstance(log, SqlEventLog):
        log.hide = hide


def _as_it_is(payload: Json) -> Json:
    return payload


async def _forget(tx: Tx, before: str, keep: int) -> int:
    gone = await tx.run(
        "delete from events where id in "
        "(select id from events where created_at < ? order by created_at limit ?)",
        *(before, _SWEPT_AT_ONCE),
    )
    long = await tx.all(
        "select s.stream, s.last_seq from event_streams s where s.last_seq > ? and "
        "exists (select 1 from events e where e.stream = s.stream and e.seq <= s.last_seq - ?) "
        "limit 100",
        *(keep, keep),
    )
    for row in long:
        gone += await tx.run(
            "delete from events where id in "
            "(select id from events where stream = ? and seq <= ? order by seq limit ?)",
            *(row["stream"], row["last_seq"] - keep, _SWEPT_AT_ONCE),
        )
    return gone


def _topic(stream: str) -> str:
    return f"events:{stream}"
