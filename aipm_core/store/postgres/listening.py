"""Hears what other servers wake, and comes back after a lost connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import orjson
from asyncpg import InterfaceError, PostgresError

from aipm_core.store.postgres.writer import CHANNEL, EVERYTHING
from aipm_core.store.wakeups import Wakeups

logger = logging.getLogger(__name__)
_HEARTBEAT = 15.0  # seconds between signs of life; a silent network is noticed by them
_PAUSE = 1.0


class Ear:
    """Listens on a connection of its own."""

    def __init__(
        self, connect: Callable[[], Awaitable[Any]], wakeups: Wakeups, own_pid: Callable[[], int]
    ) -> None:
        self._connect = connect
        self._wakeups = wakeups
        self._own_pid = own_pid
        self.ready = asyncio.Event()

    async def listen(self) -> None:
        """Listen until cancelled."""
        while True:
            try:
                await self._listen_once()
            except (OSError, TimeoutError, PostgresError, InterfaceError) as error:
                logger.warning("other servers are not heard (%r); trying again", error)
            await asyncio.sleep(_PAUSE)

    async def _listen_once(self) -> None:
        """Listen until the connection is lost."""
        connection = await self._connect()
        lost = asyncio.Event()
        connection.add_termination_listener(lambda _: lost.set())
        try:
            await connection.add_listener(CHANNEL, self._heard)
            if self.ready.is_set():
                self._wakeups.ring_all()  # what happened while nobody listened was not heard
            self.ready.set()
            while not lost.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(lost.wait(), _HEARTBEAT)
                await connection.execute("select 1")
        finally:
            connection.terminate()

    def _heard(self, _connection: object, pid: int, _channel: str, payload: str) -> None:
        if pid == self._own_pid():
            return  # our own waiters were woken with the answer
        if payload == EVERYTHING:
            self._wakeups.ring_all()
        else:
            self._wakeups.ring(orjson.loads(payload))
