"""The connections for reading: few, kept open, and never reset between two statements."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from asyncpg import InternalClientError, TooManyConnectionsError

from aipm_core import StoreUnavailable
from aipm_store.postgres.connecting import told

_FEWER_FOR_SECONDS = 10.0  # until more connections are asked for, after the server had none left


class Readers:
    """Up to ``most`` connections that cannot write; each serves one read at a time."""

    def __init__(self, connect: Callable[[], Awaitable[Any]], most: int) -> None:
        self._connect = connect
        self._free: list[Any] = []
        self._open = 0
        self._places = asyncio.Semaphore(most)

    async def open(self) -> None:
        """Open the first connection, so that there is one to wait for."""
        self._free.append(await self._connect())
        self._open = 1

    async def close(self) -> None:
        """Close what is open."""
        while self._free:
            await self._free.pop().close(timeout=2)

    async def fetch(self, sql: str, params: tuple[object, ...], seconds: float) -> list[Any]:
        """Return the rows of a query.

        Nothing is changed by a read, so one whose connection broke is sent once more, on a new one:
        what ended this connection (a restart, an administrator) often ended the idle ones too.
        """
        try:
            with told():
                async with asyncio.timeout(seconds):
                    try:
                        return await self._fetch(sql, params)
                    except _BrokenError:
                        self._drop_idle()
                        return await self._fetch(sql, params)
        except _BrokenError as error:
            raise StoreUnavailable(f"{error.__cause__}") from error

    async def _fetch(self, sql: str, params: tuple[object, ...]) -> list[Any]:
        connection = await self._acquired()
        try:
            rows: list[Any] = await connection.fetch(sql, *params)
        except Exception as error:
            if not connection.is_closed() and not isinstance(error, InternalClientError):
                self._release(connection)
                raise
            self._drop(connection)
            raise _BrokenError from error
        except BaseException:  # cancelled: the answer is still on its way
            self._drop(connection)
            raise
        self._release(connection)
        return rows

    async def _acquired(self) -> Any:  # noqa: ANN401
        while True:
            await self._places.acquire()
            while self._free:
                connection = self._free.pop()
                if not connection.is_closed():
                    return connection
                self._open -= 1
            try:
                connection = await self._connect()
            except TooManyConnectionsError:
                if not self._open:
                    self._places.release()
                    raise
                # Wait for one of ours. The place stays taken, and is given back later.
                asyncio.get_running_loop().call_later(_FEWER_FOR_SECONDS, self._places.release)
            except BaseException:
                self._places.release()
                raise
            else:
                self._open += 1
                return connection

    def _release(self, connection: Any) -> None:  # noqa: ANN401
        self._free.append(connection)
        self._places.release()

    def _drop(self, connection: Any) -> None:  # noqa: ANN401
        connection.terminate()
        self._open -= 1
        self._places.release()

    def _drop_idle(self) -> None:
        while self._free:
            self._free.pop().terminate()
            self._open -= 1


class _BrokenError(Exception):
    """The connection ended while a read was under way."""
