"""The writer: one connection, many units in one commit, one server at a time.

Every trip to the database costs all servers time while the lock is held, so what can travel
together does: the beginning with the lock, the savepoint of a unit with the release of the one
before, the wake-up with the commit. Each of several units has its own savepoint: one that fails
takes back its own changes only. Nobody is answered before the commit.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Any

import orjson
from asyncpg import ReadOnlySQLTransactionError

from aipm_core import StoreUnavailable, Unit, WakeNote
from aipm_store.postgres.connecting import literal
from aipm_store.postgres.error_kinds import told_apart
from aipm_store.postgres.transaction import PostgresTx, driven
from aipm_store.write_request import Job, deliver, noted, topics_of

CHANNEL = "aipm_wake"
_LOCK = 0x6169706D_0002
_BEGIN = f"begin; select pg_advisory_xact_lock({_LOCK})"
_LARGEST_BATCH = 512
_LONGEST_HOLD = 0.25  # seconds after which the rest of a batch lets other servers go first
_PATIENCE = 15.0  # seconds for one transaction
_LONGEST_PAYLOAD = 7900  # bytes; PostgreSQL refuses 8000


class Writer:
    """Takes units and answers them after their commit."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Any]],
        ring_here: Callable[[set[str]], None],
        notes: Sequence[WakeNote] = (),
    ) -> None:
        self._connect = connect
        self._ring_here = ring_here
        self._notes = notes
        self._connection: Any = None
        self._jobs: deque[Job] = deque()
        self._queued = asyncio.Event()
        self._closed = False
        self.pid = 0  # of the process that serves this connection: the sender of our wake-ups

    async def open(self) -> None:
        """Connect before the first unit comes, so that there is a connection for it."""
        await self._connected()

    async def write(self, unit: Unit[Any]) -> Any:  # noqa: ANN401
        """Queue one unit and wait for its commit."""
        if self._closed:
            raise RuntimeError("the store is closed")
        job = Job(unit, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._queued.set()
        return await job.answer

    async def work(self) -> None:
        """Commit batch after batch, until cancelled."""
        while True:
            await self._queued.wait()
            batch = [self._jobs.popleft() for _ in range(min(len(self._jobs), _LARGEST_BATCH))]
            batch = [job for job in batch if not job.answer.cancelled()]
            try:
                if batch:
                    await self._commit(batch)
            except Exception as error:  # noqa: BLE001 - every caller must get an answer
                for job in batch:
                    job.fail(told_apart(error))
            self._deliver(batch)
            if not self._jobs:
                self._queued.clear()

    async def close(self) -> None:
        """Let go of the connection; whoever still waits is told that nothing was written."""
        self._closed = True
        while self._jobs:
            job = self._jobs.popleft()
            job.fail(StoreUnavailable("the store is being closed"))
            deliver([job])
        if self._connection is not None:
            await self._connection.close(timeout=2)

    async def _commit(self, batch: list[Job]) -> None:
        """Run a batch and commit it. What cannot be finished in time goes back to the queue."""
        try:
            async with asyncio.timeout(_PATIENCE):
                connection = await self._connected()
                await connection.execute(_BEGIN if len(batch) == 1 else f"{_BEGIN}; savepoint unit")
                await self._run_all(connection, batch)
                await _end(connection, batch)
        except BaseException:
            if self._connection is not None:
                self._connection.terminate()  # its state is unknown: the server takes back all
            raise

    async def _run_all(self, connection: Any, batch: list[Job]) -> None:  # noqa: ANN401
        began, alone = monotonic(), len(batch) == 1
        for number, job in enumerate(batch):
            if number and monotonic() - began > _LONGEST_HOLD:
                self._jobs.extendleft(reversed(batch[number:]))
                del batch[number:]
                break
            if number and batch[number - 1].error is None:
                await connection.execute("release savepoint unit; savepoint unit")
            if job.answer.cancelled():  # nobody is told of it, so it must not happen
                job.fail(StoreUnavailable("nobody waits for it any more"))
                continue
            await _run(connection, job, self._notes)
            if job.error is not None and not alone:
                await connection.execute("rollback to savepoint unit")

    async def _connected(self) -> Any:  # noqa: ANN401
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
            self.pid = self._connection.get_server_pid()
        return self._connection

    def _deliver(self, batch: list[Job]) -> None:
        deliver(batch)
        self._ring_here(topics_of(batch))


async def _run(connection: Any, job: Job, notes: Sequence[WakeNote]) -> None:  # noqa: ANN401
    """Run one unit; keep its result or its error."""
    transaction = PostgresTx(connection)
    try:
        job.result = await driven(partial(noted, job.unit, notes), transaction)
        job.topics = transaction.topics
    except Exception as error:
        if connection.is_closed() or isinstance(error, ReadOnlySQLTransactionError):
            raise  # of the others nothing can be kept either, and another connection is needed
        job.error = told_apart(error)
    finally:
        transaction.end()


async def _end(connection: Any, batch: Sequence[Job]) -> None:  # noqa: ANN401
    """Commit, and tell other servers in the same trip; a lone unit that failed is taken back."""
    if all(job.error is not None for job in batch):
        await connection.execute("rollback")
        return
    told = [
        f"select pg_notify('{CHANNEL}', {literal(text)})" for text in payloads(topics_of(batch))
    ]
    if await connection.execute("; ".join([*told, "commit"])) != "COMMIT":
        raise RuntimeError("a unit went on after a statement of it had failed")


def payloads(topics: Iterable[str]) -> Iterator[str]:
    """Yield the topics in texts that PostgreSQL takes: as few as possible, none cut in two."""
    some: list[str] = []
    size = 2
    for topic in sorted(topics):
        length = len(orjson.dumps(topic)) + 1
        if some and size + length > _LONGEST_PAYLOAD:
            yield orjson.dumps(some).decode()
            some, size = [], 2
        some.append(topic)
        size += length
    if some:
        yield orjson.dumps(some).decode()
