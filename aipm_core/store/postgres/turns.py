"""Turns among all servers of one database."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

TABLE = """
    create table if not exists aipm_turns (name text primary key, mark text, previous text)
"""
_LOCK = "select pg_advisory_lock(hashtextextended($1, 0))"
_UNLOCK = "select pg_advisory_unlock(hashtextextended($1, 0))"
_TAKE = """
    insert into aipm_turns (name, mark) values ($1, $2) on conflict (name) do update
    set previous = aipm_turns.mark, mark = excluded.mark returning previous = mark as ours
"""


class Turns:
    """An advisory lock a name; the server lets go of it with a lost connection."""

    def __init__(self, pool: Any) -> None:  # noqa: ANN401
        self._pool = pool
        self._mark = secrets.token_hex(8)

    @asynccontextmanager
    async def taken(self, name: str) -> AsyncGenerator[bool]:
        """Hold the lock; say whether the last turn was ours too."""
        async with self._pool.acquire() as connection:
            await connection.execute(_LOCK, f"aipm turn {name}")
            try:
                yield bool(await connection.fetchval(_TAKE, name, self._mark))
            finally:
                if not connection.is_closed():
                    await connection.execute(_UNLOCK, f"aipm turn {name}")
