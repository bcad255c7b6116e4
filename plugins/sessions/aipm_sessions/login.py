"""The ``authenticate`` and ``logout`` tools."""

from __future__ import annotations

import anyio
from pydantic import Field

from aipm_core import (
    Arguments,
    Call,
    Json,
    NoArguments,
    PluginContext,
    Reader,
    Row,
    Tx,
    is_name,
    new_id,
)
from aipm_core.models import Purpose
from aipm_sessions.api import Agent
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import PasskeyChecker, token_hash
from aipm_sessions.desk import Desk
from aipm_sessions.directory import SqlDirectory

_MINUTE = 60.0
# A locked-out caller waits this long for its refusal. Without it four connections asked 3,400 times
# a second, and the logins of others took twice as long (tests/abuse/test_floods.py).
_PAUSE = 0.25


class Authenticate(Arguments):
    """Arguments of ``authenticate``."""

    agent_id: str = Field(max_length=200)
    passkey: str = Field(max_length=1000)
    project_id: str = Field(max_length=200)
    purpose: Purpose | None = None


class Login:
    """Checks passkeys. Unknown agent, wrong passkey and foreign project get one answer."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        desk: Desk,
        directory: SqlDirectory,
        passkeys: PasskeyChecker,
    ) -> None:
        self._ctx = ctx
        self._desk = desk
        self._directory = directory
        self._passkeys = passkeys
        self._most = ctx.config.failed_logins_per_minute
        # Who got in since the server started. Not asked of the store: whether an id exists must
        # not show in how long a wrong passkey takes.
        self._regulars: set[str] = set()

    async def authenticate(self, call: Call, args: Authenticate) -> Json:
        """Open a session."""
        # What cannot be an id may be a passkey in the wrong place, so only its hash is written.
        name = args.agent_id if is_name(args.agent_id) else token_hash(args.agent_id)
        # A flood is refused without a write: those who log in share the writer with it.
        locked = await self._failures(self._ctx.store, name) >= self._most
        attempt = None if locked else await self._ctx.store.write(lambda tx: self._note(tx, name))
        if attempt is None:
            await anyio.sleep(_PAUSE)
            raise self._ctx.refuse("rate_limited", 429)
        row = await self._candidate(args)
        stored, stranger = row["passkey_hash"] if row else None, name not in self._regulars
        fits = await self._passkeys.fits(args.passkey, stored, stranger=stranger)
        agent = await self._directory.agent(self._ctx.store, args.agent_id)
        if not fits or agent is None or row is None or not row["member"]:
            raise self._ctx.refuse("invalid_credentials", 401)
        self._regulars |= {name}
        return await self._ctx.store.write(lambda tx: self._open(tx, args, agent, attempt))

    async def logout(self, call: Call, args: NoArguments) -> Json:
        """End this session."""
        await self._ctx.store.write(lambda tx: self._desk.close(tx, call.caller.id, "logout"))
        return {"success": True}

    async def _candidate(self, args: Authenticate) -> Row | None:
        if not is_name(args.agent_id):
            return None
        return await self._ctx.store.one(
            "select a.passkey_hash, p.agent_id is not null as member from agents a "
            "left join project_agents p on p.agent_id = a.id and p.project_id = ? where a.id = ?",
            *(args.project_id, args.agent_id),
        )

    async def _failures(self, db: Reader, name: str) -> int:
        """Count the attempts of the last minute; one from the future is from another clock."""
        now = self._ctx.clock()
        row = await db.one(
            "select count(*) as n from login_attempts where agent_id = ? and at >= ? and at <= ?",
            *(name, now - _MINUTE, now),
        )
        return int(row["n"]) if row else 0

    async def _note(self, tx: Tx, name: str) -> str | None:
        """Note an attempt before it is checked, so that parallel ones cannot slip through."""
        now = self._ctx.clock()
        # One from the future was noted before the clock was put back.
        await tx.run("delete from login_attempts where at < ? or at > ?", now - _MINUTE, now)
        if await self._failures(tx, name) >= self._most:
            return None
        attempt = new_id("try")
        await tx.run(
            "insert into login_attempts (id, agent_id, at) values (?, ?, ?)", attempt, name, now
        )
        return attempt

    async def _open(self, tx: Tx, args: Authenticate, agent: Agent, attempt: str) -> Json:
        await tx.run("delete from login_attempts where id = ?", attempt)
        purpose = args.purpose or await self._desk.purpose_for(tx, agent.id, args.project_id)
        session, token, extras = await self._desk.open_with_extras(
            tx, agent, args.project_id, purpose
        )
        return {
            "session_token": token,
            "expires_in": int(self._ctx.config.idle_seconds),
            "purpose": session.purpose,
            "agent_name": agent.name,
            **extras,
            "instruction": self._ctx.texts(f"instructions.{session.purpose}"),
        }
