"""The writer: one thread, one connection, many units in one commit.

Group commit makes durable writes 10 times faster at 16 callers than one commit each, because the
disk is asked once for all of them. Each unit has its own savepoint: one that fails takes back its
own changes only, and nobody is answered before the commit.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from aipm_core import Row, Unit, WakeNote
from aipm_store.error_kinds import told_apart
from aipm_store.statement_guard import Over, StatementGuard, explained
from aipm_store.write_request import Job, deliver, noted, topics_of

logger = logging.getLogger(__name__)
THREAD = "aipm-writer"
_LARGEST_BATCH = 512
_FAREWELL = 2.0  # seconds
_SHORTEST_WAIT, _LONGEST_WAIT = 0.002, 0.1  # seconds until a busy process is woken again


class SqliteTx:
    """A transaction on the writer's connection. Its methods never really wait."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection: sqlite3.Connection | Over = connection
        self.topics: set[str] = set()

    def end(self) -> None:
        """Refuse every further use."""
        self._connection = Over()

    async def one(self, sql: str, /, *params: object) -> Row | None:
        """Return the first row, if there is one."""
        row: Row | None = self._connection.execute(sql, params).fetchone()
        return row

    async def all(self, sql: str, /, *params: object) -> list[Row]:
        """Return every row."""
        return self._connection.execute(sql, params).fetchall()

    async def run(self, sql: str, /, *params: object) -> int:
        """Execute, and return how many rows changed."""
        return self._connection.execute(sql, params).rowcount

    def wake(self, *topics: str) -> None:
        """Wake waiters after the commit."""
        self.topics.update(topics)


class Writer:
    """Takes units from the event loop and answers them after their commit."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        lock: Path,
        *,
        ring_here: Callable[[set[str]], None],
        ring_others: Callable[[set[str]], bool],
        notes: Sequence[WakeNote] = (),
    ) -> None:
        self._connection = connection  # from here on, only the thread touches it
        self._guard = StatementGuard(connection)
        self._lock = lock
        self._ring_here = ring_here
        self._ring_others = ring_others
        self._notes = notes
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name=THREAD, daemon=True)
        self._closed = False
        self._owing = False  # another process was too busy to be woken
        self._thread.start()

    async def write(self, unit: Unit[Any]) -> Any:  # noqa: ANN401
        """Queue one unit and wait for its commit."""
        if self._closed:
            raise RuntimeError("the store is closed")
        job = Job(unit, self._loop.create_future())
        self._jobs.put(job)
        return await job.answer

    def close(self) -> None:
        """Finish what is queued and end the thread, unless another process holds it up."""
        self._closed = True
        self._jobs.put(None)
        self._thread.join(_FAREWELL)

    def _work(self) -> None:
        with self._lock.open("ab") as lock:
            while batch := self._next_batch():
                try:
                    # SQLite's own waiting is unfair: a busy process would starve the others.
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    self._commit(batch)
                except Exception as error:  # noqa: BLE001 - every caller must get an answer
                    for job in batch:
                        job.fail(told_apart(error))
                finally:
                    fcntl.flock(lock, fcntl.LOCK_UN)
                self._answer(batch)
        self._connection.close()

    def _next_batch(self) -> list[Job]:
        batch: list[Job] = []
        job = self._next_job()
        while job is not None:
            batch.append(job)
            if len(batch) == _LARGEST_BATCH:
                return batch
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return batch
        if batch:
            self._jobs.put(None)  # close() came after work: do the work, then find this again
        return batch

    def _next_job(self) -> Job | None:
        patience = _SHORTEST_WAIT
        while self._owing:
            try:
                return self._jobs.get(timeout=patience)
            except Empty:
                self._owing = self._ring_others(set())
                patience = min(2 * patience, _LONGEST_WAIT)
        return self._jobs.get()

    def _commit(self, batch: list[Job]) -> None:
        try:
            self._connection.execute(f"begin immediate{self._guard.mark}")
            for job in batch:
                if not job.answer.cancelled():  # nobody is told of it, so it must not happen
                    _run(self._connection, job, self._notes, self._guard)
            self._connection.execute(f"commit{self._guard.mark}")
        finally:
            if self._connection.in_transaction:
                self._connection.execute(f"rollback{self._guard.mark}")

    def _answer(self, batch: list[Job]) -> None:
        topics = topics_of(batch)
        try:
            self._loop.call_soon_threadsafe(self._deliver, batch, topics)
        except RuntimeError:
            logger.debug("the event loop ended before %d answers", len(batch))
        if topics or self._owing:
            self._owing = self._ring_others(topics)

    def _deliver(self, batch: Iterable[Job], topics: set[str]) -> None:
        deliver(batch)
        self._ring_here(topics)


def _run(
    connection: sqlite3.Connection, job: Job, notes: Sequence[WakeNote], guard: StatementGuard
) -> None:
    """Run one unit inside its savepoint; keep its result or its error."""
    transaction = SqliteTx(connection)
    connection.execute(f"savepoint unit{guard.mark}")
    guard.in_unit = True
    try:
        job.result = drive(partial(noted, job.unit, notes), transaction)
        job.topics = transaction.topics
    except Exception as error:
        guard.in_unit = False
        if not connection.in_transaction:  # SQLite took back everything, of the others too
            raise
        connection.execute(f"rollback to unit{guard.mark}")
        job.error = told_apart(explained(error))
    finally:
        guard.in_unit = False
        transaction.end()
    connection.execute(f"release unit{guard.mark}")


def drive(unit: Callable[[SqliteTx], Coroutine[Any, Any, Any]], transaction: SqliteTx) -> Any:  # noqa: ANN401
    """Run a unit's coroutine to its end, here and now."""
    work = unit(transaction)
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise RuntimeError("a write unit may await its transaction and nothing else")
