"""The engine behind ``[store] url = "postgresql://…"``."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from aipm_core.errors import StoreError, StoreUnavailable
from aipm_core.store import place
from aipm_core.store.port import Condition, Dialect, Migration, Progress, Row, Unit
from aipm_core.store.postgres import schema
from aipm_core.store.postgres.connecting import PATIENCE, Address, told
from aipm_core.store.postgres.dialect import numbered
from aipm_core.store.postgres.listening import Ear
from aipm_core.store.postgres.turns import Turns
from aipm_core.store.postgres.writer import Writer
from aipm_core.store.wakeups import Wakeups
from aipm_core.upkeep import background

T = TypeVar("T")
_CONDITION = """
    select current_setting('server_version') as version,
    current_setting('synchronous_commit') as commits,
    current_setting('fsync') as flushes, pg_database_size(current_database()) as size
"""


class PostgresStore:
    """One database for several servers. Made closed: nothing is connected before it is opened."""

    _pool: Any
    _writer: Writer
    _turns: Turns

    def __init__(self, url: str, data_dir: Path) -> None:
        self._address = Address(url)
        self._data_dir = data_dir
        self._wakeups = Wakeups()

    @property
    def dialect(self) -> Dialect:
        """PostgreSQL."""
        return "postgresql"

    @asynccontextmanager
    async def opened(self, migrations: Mapping[str, Sequence[Migration]]) -> AsyncGenerator[None]:
        """Connect, bring the tables up to date, and disconnect in the end."""
        place.prepare(self._data_dir, local=False)
        with self._address.explained("cannot be used"):
            connection = await self._address.connect()
            try:
                await schema.update(connection, migrations)
            finally:
                await connection.close()
        async with self._address.readers() as self._pool, self._address.holders() as holders:
            self._turns = Turns(holders)
            self._writer = Writer(self._address.connect, self._wakeups.ring)
            ear = Ear(self._address.connect, self._wakeups, lambda: self._writer.pid)
            try:
                async with background(store_writer=self._writer.work, store_ear=ear.listen):
                    await ear.ready.wait()
                    yield
            finally:
                await self._writer.close()

    async def one(self, sql: str, /, *params: object) -> Row | None:
        """Read the first row of an indexed query."""
        with told():
            row: Row | None = await self._pool.fetchrow(numbered(sql), *params)
        return row

    async def all(self, sql: str, /, *params: object) -> list[Row]:
        """Read every row of a short, bounded query."""
        with told():
            rows: list[Row] = await self._pool.fetch(numbered(sql), *params)
        return rows

    async def scan(self, sql: str, /, *params: object) -> list[Row]:
        """Read what may be long; others have connections of their own."""
        return await self.all(sql, *params)

    @property
    def ending(self) -> bool:
        """Whether the program has been told to stop."""
        return self._wakeups.ended

    async def write(self, unit: Unit[T]) -> T:
        """Run ``unit`` as one transaction; return its result once it is on disk."""
        try:
            async with asyncio.timeout(PATIENCE):
                result: T = await self._writer.write(unit)
        except TimeoutError as error:
            raise StoreUnavailable("the database does not answer") from error
        return result

    async def wait_until(
        self, topics: Sequence[str], look: Callable[[], Awaitable[T | None]], seconds: float
    ) -> T | None:
        """Return what ``look`` finds, looking again when a topic is woken."""
        return await self._wakeups.wait_until(topics, look, seconds)

    def turn(self, name: str) -> AbstractAsyncContextManager[bool]:
        """Be the only one, of all servers, who does the named thing."""
        return self._turns.taken(name)

    def end_waits(self) -> None:
        """Let every present and future wait return ``None`` at once."""
        self._wakeups.end()

    async def condition(self) -> Condition:
        """Say what the server tells of itself."""
        row = await self.one(_CONDITION)
        if row is None or row["commits"] == "off" or row["flushes"] == "off":
            problem = "the server runs with fsync or synchronous_commit off: it may lose writes"
            return Condition(sound=False, message=problem)
        told = f"PostgreSQL {row['version']} answers ({row['size'] / 1e6:.1f} MB)"
        return Condition(sound=True, message=told)

    async def copy_to(self, file: Path, progress: Progress) -> None:
        """Leave it to the tools of the database."""
        raise StoreError("the data is in PostgreSQL: use pg_dump")

    def restore_from(
        self, file: Path, migrations: Mapping[str, Sequence[Migration]], *, replace: bool
    ) -> Path | None:
        """Leave it to the tools of the database."""
        raise StoreError("the data is in PostgreSQL: use pg_restore while no server runs")
