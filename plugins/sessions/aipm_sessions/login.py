"""The ``authenticate`` and ``logout`` tools."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aipm_core import Arguments, Call, Json, NoArguments, PluginContext, Reader, Row, Tx
from aipm_sessions.api import Agent, is_name
from aipm_sessions.attempts import LoginAttempts
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.passkeys import Passkeys
from aipm_sessions.session_store import SqlSessionStore


class Authenticate(Arguments):
    """Arguments of ``authenticate``."""

    agent_id: str = Field(max_length=200)
    passkey: str = Field(max_length=1000)
    project_id: str = Field(max_length=200)
    purpose: Literal["task", "chat"] | None = None


class Login:
    """Checks passkeys. Unknown agent, wrong passkey and foreign project get one answer."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        sessions: SqlSessionStore,
        directory: SqlDirectory,
        passkeys: Passkeys,
        attempts: LoginAttempts,
    ) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._directory = directory
        self._passkeys = passkeys
        self._attempts = attempts

    async def authenticate(self, call: Call, args: Authenticate) -> Json:
        """Open a session."""
        attempt = await self._attempts.begin(args.agent_id)
        row = await self._candidate(self._ctx.store, args)
        stored = row["passkey_hash"] if row else None
        fits = await self._passkeys.fits(args.agent_id, args.passkey, stored)
        if not fits or row is None or not row["member"]:
            raise self._ctx.refuse("invalid_credentials", 401)
        return await self._ctx.store.write(lambda tx: self._open(tx, args, row, attempt))

    async def logout(self, call: Call, args: NoArguments) -> Json:
        """End this session."""
        await self._ctx.store.write(lambda tx: self._sessions.close(tx, call.caller.id, "logout"))
        return {"success": True}

    async def _candidate(self, db: Reader, args: Authenticate) -> Row | None:
        if not is_name(args.agent_id):
            return None
        return await db.one(
            "select a.passkey_hash, p.agent_id is not null as member from agents a "
            "left join project_agents p on p.agent_id = a.id and p.project_id = ? where a.id = ?",
            *(args.project_id, args.agent_id),
        )

    async def _unchanged(self, tx: Tx, args: Authenticate, checked: Row) -> Agent:
        """Look again where the session opens: the check waited its turn, and a new passkey did not.

        Whoever gives an agent a new passkey believes the old one worthless from then on.
        """
        now = await self._candidate(tx, args)
        agent = await self._directory.agent(tx, args.agent_id)
        if agent is None or now is None or not now["member"]:
            raise self._ctx.refuse("invalid_credentials", 401)
        if now["passkey_hash"] != checked["passkey_hash"]:
            raise self._ctx.refuse("invalid_credentials", 401)
        return agent

    async def _open(self, tx: Tx, args: Authenticate, checked: Row, attempt: str) -> Json:
        agent = await self._unchanged(tx, args, checked)
        await self._attempts.forget(tx, attempt)
        purpose = args.purpose or await self._sessions.purpose_for(tx, agent.id, args.project_id)
        session, token, extras = await self._sessions.open_with_extras(
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
