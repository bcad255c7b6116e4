"""Counts failed logins: so many a minute for one name, then none for a while."""

from __future__ import annotations

import anyio

from aipm_core import PluginContext, Reader, Tx, new_id
from aipm_sessions.api import is_name
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import token_hash

_MINUTE = 60.0
_APART = 30.0  # seconds that the clocks of servers may differ by, where nobody counts them
# A locked-out caller waits this long for its refusal. Without it four connections asked 3,400 times
# a second, and the logins of others took twice as long (tests/security/test_floods.py).
_PAUSE_SECONDS = 0.25


class LoginAttempts:
    """An attempt is noted before it is checked, and forgotten if it was right."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx
        self._most = ctx.config.failed_logins_per_minute

    async def begin(self, who: str) -> str:
        """Note an attempt and return its id; ``rate_limited`` if there were too many."""
        # What cannot be an id may be a passkey in the wrong place, so only its hash is written.
        name = who if is_name(who) else token_hash(who)
        # A flood is refused without a write: those who log in share the writer with it.
        locked = await self._failures(self._ctx.store, name) >= self._most
        attempt = None if locked else await self._ctx.store.write(lambda tx: self._note(tx, name))
        if attempt is None:
            await anyio.sleep(_PAUSE_SECONDS)
            raise self._ctx.refuse("rate_limited", 429)
        return attempt

    async def forget(self, tx: Tx, attempt: str) -> None:
        """Take an attempt back that was right."""
        await tx.run("delete from login_attempts where id = ?", attempt)

    async def _failures(self, db: Reader, name: str) -> int:
        """Count the attempts of the last minute, by clocks that may be a little apart."""
        now = self._ctx.clock()
        row = await db.one(
            "select count(*) as n from login_attempts where agent_id = ? and at >= ? and at <= ?",
            *(name, now - _MINUTE, now + _APART),
        )
        return int(row["n"]) if row else 0

    async def _note(self, tx: Tx, name: str) -> str | None:
        """Note an attempt before it is checked, so that parallel ones cannot slip through."""
        now = self._ctx.clock()
        # One from the far future was noted before the clock was put back.
        await tx.run(
            "delete from login_attempts where at < ? or at > ?", now - _MINUTE, now + _APART
        )
        if await self._failures(tx, name) >= self._most:
            return None
        attempt = new_id("try")
        await tx.run(
            "insert into login_attempts (id, agent_id, at) values (?, ?, ?)", attempt, name, now
        )
        return attempt
