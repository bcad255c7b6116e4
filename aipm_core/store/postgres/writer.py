"""The writer: one connection, many units in one commit, one server at a time.

Every unit costs a few trips to the server and every commit one to the disk; together in one
transaction they share the second. Each has its own savepoint: one that fails takes back its own
changes only, and nobody is answered before the commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from aipm_core.errors import StoreUnavailable
from aipm_core.store.jobs import Job, deliver, topics_of
from aipm_core.store.port import Unit
from aipm_core.store.postgres.transaction import PostgresTx, driven
from aipm_core.store.postgres.troubles import told_apart

CHANNEL = "aipm_wake"
EVERYTHING = "*"
_LOCK = 0x6169706D_0002
_LARGEST_BATCH = 512
_LONGEST_PAYLOAD = 7900  # bytes; PostgreSQL refuses 8000


class Writer:
    """Takes units and answers them after their commit."""

    def __init__(
        self, connect: Callable[[], Awaitable[Any]], ring_here: Callable[[set[str]], None]
    ) -> None:
        self._connect = connect
        self._ring_here = ring_here
        self._connection: Any = None
        self._jobs: asyncio.Queue[Job] = asyncio.Queue()
        self._closed = False
        self.pid = 0  # of the process that serves this connection: the sender of our wake-ups

    async def write(self, unit: Unit[Any]) -> Any:  # noqa: ANN401
        """Queue one unit and wait for its commit."""
        if self._closed:
            raise RuntimeError("the store is closed")
        job = Job(unit, asyncio.get_running_loop().create_future())
        self._jobs.put_nowait(job)
        return await job.answer

    async def work(self) -> None:
        """Commit batch after batch, until cancelled."""
        while True:
            batch = [await self._jobs.get()]
            while len(batch) < _LARGEST_BATCH and not self._jobs.empty():
                batch.append(self._jobs.get_nowait())
            try:
                await self._commit(batch)
            except Exception as error:  # noqa: BLE001 - every caller must get an answer
                for job in batch:
                    job.fail(told_apart(error))
            self._deliver(batch)

    async def close(self) -> None:
        """Let go of the connection; whoever still waits is told that nothing was written."""
        self._closed = True
        while not self._jobs.empty():
            job = self._jobs.get_nowait()
            job.fail(StoreUnavailable("the store is being closed"))
            deliver([job])
        if self._connection is not None:
            await self._connection.close(timeout=2)

    async def _commit(self, batch: list[Job]) -> None:
        connection = await self._connected()
        async with connection.transaction():
            await connection.execute("select pg_advisory_xact_lock($1)", _LOCK)
            for job in batch:
                if not job.answer.cancelled():  # nobody is told of it, so it must not happen
                    await _run(connection, job)
            topics = topics_of(batch)
            if topics:
                await connection.execute("select pg_notify($1, $2)", CHANNEL, _payload(topics))

    async def _connected(self) -> Any:  # noqa: ANN401
        if self._connection is None or self._connection.is_closed():
            self._connection = await self._connect()
            self.pid = self._connection.get_server_pid()
        return self._connection

    def _deliver(self, batch: list[Job]) -> None:
        deliver(batch)
        self._ring_here(topics_of(batch))


async def _run(connection: Any, job: Job) -> None:  # noqa: ANN401
    """Run one unit inside its savepoint; keep its result or its error."""
    transaction = PostgresTx(connection)
    try:
        async with connection.transaction():
            job.result = await driven(job.unit, transaction)
        job.topics = transaction.topics
    except Exception as error:
        if connection.is_closed():  # the changes of the others are gone too
            raise
        job.error = told_apart(error)


def _payload(topics: set[str]) -> str:
    text = orjson.dumps(sorted(topics)).decode()
    return text if len(text.encode()) <= _LONGEST_PAYLOAD else EVERYTHING
