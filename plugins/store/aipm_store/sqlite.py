"""The SQLite engine: a writer thread, a read-only connection on the event loop, wake-ups."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

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
from aipm_store import backup, data_directory, directory_lock, restore, schema
from aipm_store.error_kinds import told_apart
from aipm_store.event_log import SqlEventLog, with_log
from aipm_store.file_lock import locked
from aipm_store.keeping import Condition, CopyProgress
from aipm_store.named_locks import Turns
from aipm_store.process_wakeups import Doorbell
from aipm_store.statement_guard import StatementGuard
from aipm_store.wakeups import Wakeups
from aipm_store.writer import Writer

T = TypeVar("T")
_SAFETY_LOOK = 2.0  # seconds; only covers a process that died between its commit and its ring
_SELDOM = 10.0  # seconds between wake-ups of everybody: each costs every waiter a look
_LOCK = "write.lock"
_PATIENCE, _LAST_PATIENCE, _LEAST_PATIENCE = 20.0, 3.0, 0.2  # seconds for a write


class SqliteStore:
    """One database file. Made closed, so that plugins can be built before anything is created."""

    _reader: sqlite3.Connection
    _writer: Writer
    _doorbell: Doorbell

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._database = data_dir / data_directory.DATABASE
        self._wakeups = Wakeups()
        self._turns = Turns(data_dir)
        self._ends_at: float | None = None
        self._notes: list[WakeNote] = []

    @property
    def dialect(self) -> Dialect:
        """SQLite."""
        return "sqlite"

    @asynccontextmanager
    async def opened(self, migrations: Mapping[str, Sequence[Migration]]) -> AsyncGenerator[None]:
        """Create or open the database, bring its tables up to date, and close it in the end."""
        data_directory.prepare(self._data_dir)
        with directory_lock.shared(self._data_dir):
            data_directory.prepare_database(self._data_dir)
            try:
                _update(self._database, with_log(migrations))
                self._open()
            except sqlite3.Error as error:
                raise StoreError(_explain(self._database, error)) from error
            try:
                async with background(store_doorbell=self._listen, store_watch=self._watch):
                    yield
            finally:
                self._close()

    def _open(self) -> None:
        self._reader = _connect(self._database, busy_ms=200)
        self._reader.execute("pragma query_only = 1")
        StatementGuard(self._reader).in_unit = True  # or a reader could make itself a writer
        self._doorbell = Doorbell(self._data_dir)
        self._writer = Writer(
            _connect(self._database, for_another_thread=True),
            self._data_dir / _LOCK,
            ring_here=self._wakeups.ring,
            ring_others=self._doorbell.ring,
            notes=self._notes,
        )

    async def one(self, sql: str, /, *params: object) -> Row | None:
        """Read the first row of an indexed query."""
        try:
            row: Row | None = self._reader.execute(sql, params).fetchone()
        except sqlite3.Error as error:
            raise told_apart(error) from error
        return row

    async def all(self, sql: str, /, *params: object) -> list[Row]:
        """Read every row of a short, bounded query."""
        try:
            return self._reader.execute(sql, params).fetchall()
        except sqlite3.Error as error:
            raise told_apart(error) from error

    @property
    def ending(self) -> bool:
        """Whether the program has been told to stop."""
        return self._wakeups.ended

    async def scan(self, sql: str, /, *params: object) -> list[Row]:
        """Read what may be long, on a thread and connection of its own."""
        try:
            return await anyio.to_thread.run_sync(_read, self._database, sql, params)
        except sqlite3.Error as error:
            raise told_apart(error) from error

    async def write(self, unit: Unit[T]) -> T:
        """Run ``unit`` as one transaction; return its result once it is on disk."""
        try:
            async with asyncio.timeout(self._patience()):
                result: T = await self._writer.write(unit)
        except TimeoutError as error:
            problem = "another process holds the store and does not go on"
            raise StoreUnavailable(problem) from error
        return result

    def _patience(self) -> float:
        """Return how long a write may take; at the end there is little time for all together."""
        if self._ends_at is None:
            return _PATIENCE
        return max(self._ends_at - anyio.current_time(), _LEAST_PATIENCE)

    async def wait_until(
        self, topics: Sequence[str], look: Callable[[], Awaitable[T | None]], seconds: float
    ) -> T | None:
        """Return what ``look`` finds, looking again when a topic is woken."""
        return await self._wakeups.wait_until(topics, look, seconds)

    def note_wakes(self, note: WakeNote) -> None:
        """Let ``note`` take part in every transaction that wakes a topic."""
        self._notes.append(note)

    def turn(self, name: str) -> AbstractAsyncContextManager[Turn]:
        """Be the only one, of all processes in this data directory, who does the named thing."""
        return self._turns.taken(name)

    async def condition(self) -> Condition:
        """Let SQLite check the file."""
        try:
            verdict = (await self.scan("pragma quick_check(1)"))[0][0]
        except sqlite3.Error as error:
            verdict = str(error)
        if verdict != "ok":
            return Condition(sound=False, message=f"the database is damaged: {verdict}")
        size = self._database.stat().st_size / 1e6
        return Condition(sound=True, message=f"the database is whole ({size:.1f} MB)")

    def shared_clock(self, clock: Clock) -> Clock:
        """Return the machine's clock: everybody on this store is on one machine."""
        return clock

    def event_log(self, clock: Clock) -> SqlEventLog:
        """Return the log of events of this database."""
        return SqlEventLog(self, clock)

    def end_waits(self) -> None:
        """Let every present and future wait return ``None`` at once."""
        if self._ends_at is None:
            self._ends_at = anyio.current_time() + _LAST_PATIENCE
        self._wakeups.end()

    async def copy_to(self, file: Path, progress: CopyProgress) -> None:
        """Write a consistent, checked copy to a new file, on a thread of its own."""
        await backup.write_copy(self._data_dir, file, progress)

    def restore_from(
        self, file: Path, migrations: Mapping[str, Sequence[Migration]], *, replace: bool
    ) -> Path | None:
        """Put a checked copy in the place of the database."""
        return restore.put_back(self._data_dir, file, with_log(migrations), replace=replace)

    async def _listen(self) -> None:
        while True:
            await anyio.wait_readable(self._doorbell.socket)
            topics = self._doorbell.heard()
            if topics is None:
                self._wakeups.ring_all()
            else:
                self._wakeups.ring(topics)

    async def _watch(self) -> None:
        """Look now and then whether anybody wrote without ringing; seldom while others do ring."""
        seen, rings, due = None, 0, 0.0
        while True:
            version = self._reader.execute("pragma data_version").fetchone()[0]
            if seen not in (None, version):
                unannounced = self._wakeups.rings == rings
                if unannounced or anyio.current_time() >= due:
                    self._wakeups.ring_all()
                    due = anyio.current_time() + _SELDOM
            seen, rings = version, self._wakeups.rings
            await anyio.sleep(_SAFETY_LOOK)

    def _close(self) -> None:
        self._writer.close()
        self._reader.close()
        self._doorbell.close()
        self._turns.close()


def _update(database: Path, migrations: Mapping[str, Sequence[Migration]]) -> None:
    with locked(database.parent / _LOCK):
        connection = _connect(database)
        try:
            schema.update(connection, migrations)
        finally:
            connection.close()


def _read(database: Path, sql: str, params: Sequence[object]) -> list[Row]:
    connection = _connect(database)
    try:
        connection.execute("pragma query_only = 1")
        return connection.execute(sql, params).fetchall()
    finally:
        connection.close()


def _connect(
    database: Path, *, busy_ms: int = 10_000, for_another_thread: bool = False
) -> sqlite3.Connection:
    connection = sqlite3.connect(
        database,
        isolation_level=None,
        timeout=busy_ms / 1000,
        cached_statements=512,
        check_same_thread=not for_another_thread,
    )
    connection.row_factory = sqlite3.Row
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("pragma foreign_keys = on")
    return connection


def _explain(database: Path, error: sqlite3.Error) -> str:
    code = getattr(error, "sqlite_errorname", "") or ""
    if code.startswith("SQLITE_FULL"):
        return f"the disk of {database} is full; free some space and start again"
    if code.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return (
            f"{database} is damaged ({error}); restore a backup (`aipm restore FILE --replace`), "
            "or move the file away to start with an empty store"
        )
    return f"{database} cannot be opened: {error}; `aipm doctor` tells more"
