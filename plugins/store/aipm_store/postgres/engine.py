"""The engine behind ``[store] url = "postgresql://…"``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from aipm_core import (
    Clock,
    Dialect,
    Migration,
    Row,
    StoreError,
    StoreUnavailable,
    Turn,
    Unit,
    WakeNote,
    background,
)
from aipm_store import data_directory
from aipm_store.event_log import SqlEventLog, with_log
from aipm_store.keeping import Condition, CopyProgress
from aipm_store.postgres import schema
from aipm_store.postgres.condition import CONDITION, condition_of
from aipm_store.postgres.connecting import Address, check_fitness
from aipm_store.postgres.database_clock import DatabaseClock
from aipm_store.postgres.dialect import numbered
from aipm_store.postgres.listener import Ear
from aipm_store.postgres.named_locks import Turns
from aipm_store.postgres.readers import Readers
from aipm_store.postgres.writer import Writer
from aipm_store.wakeups import Wakeups

T = TypeVar("T")
_FIXED = 4  # one each to write and to hear, two for turns
# Less than plugins are given for a check: the store, not the plugin, is said to be at fault.
_READ_SECONDS, _SCAN_SECONDS, _WRITE_SECONDS = 8.0, 60.0, 20.0
_PATIENT = {"idle_in_transaction_session_timeout": "0"}


class PostgresStore:
    """One database for several servers. Made closed: nothing is connected before it is opened."""

    _readers: Readers
    _writer: Writer
    _turns: Turns

    def __init__(self, url: str, data_dir: Path, connections: int) -> None:
        self._address = Address(url)
        self._data_dir = data_dir
        self._most_readers = max(connections - _FIXED, 1)
        self._wakeups = Wakeups()
        self._clock = DatabaseClock()
        self._notes: list[WakeNote] = []

    @property
    def dialect(self) -> Dialect:
        """PostgreSQL."""
        return "postgresql"

    @asynccontextmanager
    async def opened(self, migrations: Mapping[str, Sequence[Migration]]) -> AsyncGenerator[None]:
        """Connect, bring the tables up to date, and disconnect in the end."""
        data_directory.prepare(self._data_dir, local=False)
        with self._address.explained("cannot be used"):
            await self._update(migrations)
        connect = self._address.connect_patiently
        self._readers = Readers(self._address.connect_for_reading, self._most_readers)
        self._turns = Turns(connect)
        self._writer = Writer(connect, self._wakeups.ring, self._notes)
        ear = Ear(connect, self._wakeups, lambda: self._writer.pid)
        works = {"store_writer": self._writer.work, "store_ear": ear.listen}
        try:
            with self._address.explained("cannot be used"):
                # What a server cannot do without comes first; more readers wait for their turn.
                for part in (self._writer, ear, self._readers, self._turns):
                    await part.open()
                await self._clock.measure(self.all)
            async with background(**works, store_clock=self._follow_clock):
                yield
        finally:
            ear.close()
            await self._writer.close()
            await self._turns.close()
            await self._readers.close()

    async def _update(self, migrations: Mapping[str, Sequence[Migration]]) -> None:
        connection = await self._address.connect_patiently({"lock_timeout": "0", **_PATIENT})
        try:
            await check_fitness(connection, self._address)
            await schema.update(connection, with_log(migrations))
        finally:
            await connection.close(timeout=2)

    async def _follow_clock(self) -> None:
        await self._clock.follow(self.all)

    async def one(self, sql: str, /, *params: object) -> Row | None:
        """Read the first row of an indexed query."""
        rows = await self._readers.fetch(numbered(sql), params, _READ_SECONDS)
        return rows[0] if rows else None

    async def all(self, sql: str, /, *params: object) -> list[Row]:
        """Read every row of a short, bounded query."""
        return await self._readers.fetch(numbered(sql), params, _READ_SECONDS)

    async def scan(self, sql: str, /, *params: object) -> list[Row]:
        """Read what may be long; others have connections of their own."""
        return await self._readers.fetch(numbered(sql), params, _SCAN_SECONDS)

    @property
    def ending(self) -> bool:
        """Whether the program has been told to stop."""
        return self._wakeups.ended

    async def write(self, unit: Unit[T]) -> T:
        """Run ``unit`` as one transaction; return its result once it is on disk."""
        try:
            async with asyncio.timeout(_WRITE_SECONDS):
                result: T = await self._writer.write(unit)
        except TimeoutError as error:
            raise StoreUnavailable("the database does not answer") from error
        return result

    async def wait_until(
        self, topics: Sequence[str], look: Callable[[], Awaitable[T | None]], seconds: float
    ) -> T | None:
        """Return what ``look`` finds, looking again when a topic is woken."""
        return await self._wakeups.wait_until(topics, look, seconds)

    def note_wakes(self, note: WakeNote) -> None:
        """Let ``note`` take part in every transaction that wakes a topic."""
        self._notes.append(note)

    def turn(self, name: str) -> AbstractAsyncContextManager[Turn]:
        """Be the only one, of all servers, who does the named thing."""
        return self._turns.taken(name)

    def shared_clock(self, clock: Clock) -> Clock:
        """Return a clock that shows the database's time."""
        return self._clock.shared(clock)

    def event_log(self, clock: Clock) -> SqlEventLog:
        """Return the log of events of this database."""
        return SqlEventLog(self, clock)

    def end_waits(self) -> None:
        """Let every present and future wait return ``None`` at once."""
        self._wakeups.end()

    async def condition(self) -> Condition:
        """Say what the server tells of itself."""
        return condition_of(await self.one(CONDITION), self._clock.ahead)

    async def copy_to(self, file: Path, progress: CopyProgress) -> None:
        """Leave it to the tools of the database."""
        raise StoreError("the data is in PostgreSQL: use pg_dump, or `aipm db copy` to a file")

    def restore_from(
        self, file: Path, migrations: Mapping[str, Sequence[Migration]], *, replace: bool
    ) -> Path | None:
        """Leave it to the tools of the database."""
        raise StoreError("the data is in PostgreSQL: use pg_restore while no server runs")
