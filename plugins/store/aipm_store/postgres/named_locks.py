"""Turns among all servers of one database.

A server that is stopped, or cut off, must not keep its turn: whoever has one gives a sign of life,
and PostgreSQL ends a session that gives none, and with it the lock. A server that comes back from
a long stop finds its turn gone before it does anything: by a clock that nobody sets it knows how
long ago its last sign was heard.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from aipm_core import StoreUnavailable, Turn, steady_clock
from aipm_store.postgres.connecting import literal, told

TABLE = """
    create table if not exists aipm_turns (name text primary key, mark text, previous text)
"""
_SIGN_SECONDS = 1.5
_SILENCE = "6s"  # after which PostgreSQL takes the turn away
_OURS_SECONDS = 4.0  # how long after a sign the turn is ours for certain
_MARK = """
    insert into aipm_turns (name, mark) values ($1, $2) on conflict (name) do update
    set previous = aipm_turns.mark, mark = excluded.mark
"""


class _Signs:
    """When the server was last heard to hold the turn."""

    def __init__(self) -> None:
        self.heard()

    def heard(self) -> None:
        """Note that it does now."""
        self._at = steady_clock()

    def recent(self) -> bool:
        """Return whether nobody else can have the turn by now."""
        return steady_clock() - self._at < _OURS_SECONDS


class Turns:
    """An advisory lock a name, on a connection that holds nothing else meanwhile."""

    def __init__(self, connect: Callable[[], Awaitable[Any]]) -> None:
        self._connect = connect
        self._mark = secrets.token_hex(8)
        self._here: dict[str, asyncio.Lock] = {}
        self._free: list[Any] = []

    async def open(self) -> None:
        """Open the first connection, so that others cannot take its place."""
        self._free.append(await self._connect())

    async def close(self) -> None:
        """Close what is open."""
        while self._free:
            await self._free.pop().close(timeout=2)

    @asynccontextmanager
    async def taken(self, name: str) -> AsyncGenerator[Turn]:
        """Hold the lock; where it is lost on the way, the block ends as a trouble of the store."""
        async with self._here.setdefault(name, asyncio.Lock()):
            with told():
                connection = await self._connection()
            try:
                with told():
                    ours = await self._take(connection, name)
                signs = _Signs()
                async with _kept(connection, signs):
                    yield Turn(ours=ours, lasts=signs.recent)
                with told():
                    await _let_go(connection, name)
            except BaseException:
                connection.terminate()  # and the lock with it
                raise
            self._free.append(connection)

    async def _connection(self) -> Any:  # noqa: ANN401
        while self._free:
            connection = self._free.pop()
            if not connection.is_closed():
                return connection
        return await self._connect()

    async def _take(self, connection: Any, name: str) -> bool:  # noqa: ANN401
        """Wait for the lock; return whether the last turn was ours too, else leave our mark."""
        found = await connection.execute(
            f"set idle_session_timeout = '{_SILENCE}'; select pg_advisory_lock({_key(name)}); "
            f"select 1 from aipm_turns where name = {literal(name)} and mark = '{self._mark}'"
        )
        ours = bool(found == "SELECT 1")
        if not ours:
            await connection.execute(_MARK, name, self._mark)
        return ours


async def _let_go(connection: Any, name: str) -> None:  # noqa: ANN401
    await connection.execute(
        f"select pg_advisory_unlock({_key(name)}); set idle_session_timeout = 0"
    )


@asynccontextmanager
async def _kept(connection: Any, signs: _Signs) -> AsyncGenerator[None]:  # noqa: ANN401
    """Give signs of life while the block runs; end the block when they are not heard any more."""
    done, lost = asyncio.Event(), asyncio.Event()

    async def give() -> None:
        try:
            while not await _set_within(_SIGN_SECONDS, done):
                async with asyncio.timeout(_SIGN_SECONDS):
                    await connection.execute("select 1")
                signs.heard()
        except Exception:  # noqa: BLE001 - whatever it is, the turn cannot be kept
            if not done.is_set():
                lost.set()
                limit.reschedule(asyncio.get_running_loop().time())

    try:
        async with asyncio.timeout(None) as limit:
            giving = asyncio.create_task(give())
            try:
                yield
            finally:
                done.set()
                await giving
    except TimeoutError as error:
        if not lost.is_set():
            raise
        raise StoreUnavailable("the turn was lost on the way") from error


async def _set_within(seconds: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def _key(name: str) -> str:
    return f"hashtextextended({literal(f'aipm turn {name}')}, 0)"
