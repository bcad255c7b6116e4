"""Tokens that agents' programs keep: the first call opens a session, so no model sees a passkey."""

from __future__ import annotations

from aipm_core import Json, PluginContext, Purpose, Reader, Row, Session, Tx, iso, new_id
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import new_secret, token_hash
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.session_store import SqlSessionStore

PREFIX = "aipm_at_"
_VALID = (
    "select t.* from agent_tokens t join project_agents p "
    "on p.agent_id = t.agent_id and p.project_id = t.project_id "
    "where t.token_hash = ? and t.revoked_at is null and t.expires_at > ?"
)
_REVOKE = "update agent_tokens set revoked_at = ? where revoked_at is null and "


class SqlAgentTokens:
    """The ``AgentTokens`` service. A token is of one agent, in one project, for one purpose."""

    prefix = PREFIX

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        sessions: SqlSessionStore,
        directory: SqlDirectory,
    ) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._directory = directory

    async def session_of(self, token: str) -> Session | None:
        """Return the session of a token, opened if there is none; ``None`` for a worthless one."""
        row = await self._valid(self._ctx.store, token)
        if row is None:
            return None
        session = await self._going_on(self._ctx.store, row)
        return session or await self._ctx.store.write(lambda tx: self._opened(tx, token))

    async def insert(
        self, tx: Tx, agent_id: str, project_id: str, purpose: Purpose, days: float
    ) -> dict[str, Json]:
        """Write a new token; it is shown only now."""
        token, token_id = new_secret("aipm_at_"), new_id("agt")
        expires_at = self._ctx.clock() + days * 86_400
        await tx.run(
            "insert into agent_tokens (id, token_hash, agent_id, project_id, purpose, created_at, "
            "expires_at) values (?, ?, ?, ?, ?, ?, ?)",
            *(token_id, token_hash(token), agent_id, project_id, purpose),
            *(self._ctx.now(), expires_at),
        )
        about = {"id": token_id, "agent_id": agent_id, "project_id": project_id}
        return {**about, "purpose": purpose, "token": token, "expires_at": iso(expires_at)}

    async def listed(self, db: Reader, agent_id: str) -> list[dict[str, Json]]:
        """List an agent's tokens, without their secrets."""
        rows = await db.all(
            "select * from agent_tokens where agent_id = ? order by created_at limit 1000", agent_id
        )
        return [self._shown(row) for row in rows]

    async def find(self, db: Reader, token_id: str) -> Row | None:
        """Find a token that is worth something."""
        sql = "select * from agent_tokens where id = ? and revoked_at is null"
        return await db.one(sql, token_id)

    async def revoke(self, tx: Tx, token_id: str) -> None:
        """Make a token worthless, and end the session it has opened."""
        row = await self.find(tx, token_id)
        await tx.run(_REVOKE + "id = ?", self._ctx.now(), token_id)
        if row is not None and row["session_id"] is not None:
            await self._sessions.close(tx, row["session_id"], "revoked")

    async def _valid(self, db: Reader, token: str) -> Row | None:
        return await db.one(_VALID, token_hash(token), self._ctx.clock())

    async def _going_on(self, db: Reader, row: Row) -> Session | None:
        if row["session_id"] is None:
            return None
        info = await self._sessions.find(db, row["session_id"])
        if info is None:
            return None
        self._sessions.touch(info.session.id)
        return info.session

    async def _opened(self, tx: Tx, token: str) -> Session | None:
        """Open the session of a token, unless another call was quicker."""
        row = await self._valid(tx, token)
        agent = await self._directory.agent(tx, row["agent_id"]) if row else None
        if row is None or agent is None:
            return None
        if (session := await self._going_on(tx, row)) is not None:
            return session
        session, _ = await self._sessions.open(tx, agent, row["project_id"], row["purpose"])
        await tx.run(
            "update agent_tokens set session_id = ?, last_used_at = ? where id = ?",
            *(session.id, self._ctx.now(), row["id"]),
        )
        return session

    def _shown(self, row: Row) -> dict[str, Json]:
        over = row["expires_at"] <= self._ctx.clock()
        state = "revoked" if row["revoked_at"] else "expired" if over else "valid"
        about = {name: row[name] for name in ("id", "agent_id", "project_id", "purpose")}
        times = {"created_at": row["created_at"], "expires_at": iso(row["expires_at"])}
        return {**about, **times, "used_at": row["last_used_at"], "state": state}


async def revoke_all(tx: Tx, agent_id: str, now: str) -> None:
    """Make every token of an agent worthless."""
    await tx.run(_REVOKE + "agent_id = ?", now, agent_id)
