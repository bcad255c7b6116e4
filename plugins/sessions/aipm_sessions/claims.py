"""Claims of supervisors on work: who is about to start which session, and until when."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_core import CallError, Json, PluginContext, Reader, Row, Session, Tx, new_id
from aipm_core.models import Purpose
from aipm_sessions.config import SessionsConfig
from aipm_sessions.desk import Desk

_DAY = 86_400.0
_KEY = "project_id = ? and agent_id = ? and purpose = ?"


class Claims:
    """A claim is open until its session opens or its lease ends; then it remembers the session.

    It is an observer of sessions, so the session and its claim change in one transaction.
    """

    def __init__(self, ctx: PluginContext[SessionsConfig], desk: Desk) -> None:
        self._ctx = ctx
        self._desk = desk

    async def open_one(
        self, db: Reader, project_id: str, agent_id: str, purpose: Purpose
    ) -> Row | None:
        """Find the claim under which a session is being started now."""
        return await db.one(
            f"select * from work_claims where {_KEY} and session_id is null and expires_at > ?",
            *(project_id, agent_id, purpose, self._ctx.clock()),
        )

    async def make(
        self,
        tx: Tx,
        key: tuple[str, str, Purpose],
        supervisor: str,
        seconds: float,
    ) -> str:
        """Claim one session that nobody else has claimed; return the claim's id."""
        await self._forget_old(tx)
        await tx.run(f"delete from work_claims where {_KEY} and session_id is null", *key)
        made = new_id("clm")
        await tx.run(
            "insert into work_claims (id, project_id, agent_id, purpose, supervisor, claimed_at, "
            "expires_at) values (?, ?, ?, ?, ?, ?, ?)",
            *(made, *key, supervisor, self._ctx.now(), self._ctx.clock() + seconds),
        )
        return made

    async def end(self, claim_id: str) -> bool:
        """Note that a claim's process is gone; end the session it opened, if it still lives."""

        async def end(tx: Tx) -> bool:
            row = await tx.one("select * from work_claims where id = ?", claim_id)
            if row is None:
                raise CallError(
                    f"there is no claim {claim_id!r}", code="claim_not_found", status=404
                )
            await tx.run("delete from work_claims where id = ?", claim_id)
            tx.wake(f"sessions:{row['project_id']}")
            if row["session_id"] is None:
                return False
            return await self._desk.close(tx, row["session_id"], "revoked")

        return await self._ctx.store.write(end)

    async def purpose_for(self, tx: Tx, agent_id: str, project_id: str) -> Purpose | None:
        """Have no opinion."""
        return None

    async def opened(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Release the claim that led to this session, and remember which one it was."""
        await tx.run(
            f"update work_claims set session_id = ? where {_KEY} and session_id is null "
            "and expires_at > ?",
            *(session.id, session.project_id, session.agent_id, session.purpose),
            self._ctx.clock(),
        )
        return {}

    async def closed(self, tx: Tx, session: Session, reason: str) -> None:
        """Keep the claim: its supervisor may still report that the process is gone."""

    async def _forget_old(self, tx: Tx) -> None:
        await tx.run("delete from work_claims where expires_at <= ?", self._ctx.clock() - _DAY)
