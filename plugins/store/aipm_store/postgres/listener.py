"""Hears what other servers wake, and comes back after a lost connection.

What is heard is a hint to look, never the news itself: whatever is lost with a connection, the
first look after it finds. A network that swallows everything is noticed by signs of life.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import orjson
from asyncpg import InterfaceError, InternalClientError, PostgresError

from aipm_store.postgres.writer import CHANNEL
from aipm_store.wakeups import Wakeups

logger = logging.getLogger(__name__)
_HEARTBEAT = 2.0  # seconds between signs of life
_ANSWER = 3.0  # seconds for one
_PAUSE = 1.0
_LOST = (OSError, TimeoutError, PostgresError, InterfaceError, InternalClientError)


class Ear:
    """Listens on a connection of its own."""

    def __init__(
        self, connect: Callable[[], Awaitable[Any]], wakeups: Wakeups, own_pid: Callable[[], int]
    ) -> None:
        self._connect = connect
        self._wakeups = wakeups
        self._own_pid = own_pid
        self._connection: Any = None

    async def open(self) -> None:
        """Begin to listen."""
        connection = await self._connect()
        try:
            async with asyncio.timeout(_ANSWER):
                await connection.add_listener(CHANNEL, self._heard)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection

    async def listen(self) -> None:
        """Listen until cancelled."""
        while True:
            try:
                await self._stay()
            except _LOST as error:
                logger.warning("other servers are not heard (%r); trying again", error)
            await asyncio.sleep(_PAUSE)
            with suppress(*_LOST):
                await self.open()
                self._wakeups.ring_all()  # what happened while nobody listened was not heard

    def close(self) -> None:
        """Stop listening."""
        if self._connection is not None:
            self._connection.terminate()

    async def _stay(self) -> None:
        """Give signs of life until the connection is lost."""
        lost = asyncio.Event()
        self._connection.add_termination_listener(lambda _: lost.set())
        try:
            while not lost.is_set() and not self._connection.is_closed():
                with suppress(TimeoutError):
                    await asyncio.wait_for(lost.wait(), _HEARTBEAT)
                async with asyncio.timeout(_ANSWER):
                    await self._connection.execute("select 1")
        finally:
            self._connection.terminate()

    def _heard(self, _connection: object, pid: int, _channel: str, payload: str) -> None:
        if pid == self._own_pid():
            return  # our own waiters were woken with the answer
        self._wakeups.ring(orjson.loads(payload))
