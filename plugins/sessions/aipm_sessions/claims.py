"""Claims of supervisors on work: who is about to start which session, and until when."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_core import CallError, Json, PluginContext, Purpose, Reader, Row, Session, Tx, new_id
from aipm_sessions.config import SessionsConfig
from aipm_sessions.session_store import SqlSessionStore

_KEY = "project_id = ? and agent_id = ? and purpose = ?"


class Claims:
    """A claim is open until its session opens or its lease ends; it remembers what opened.

    A process whose first login got no answer logs in again: whatever opens within the lease
    belongs to the claim. It is an observer of sessions, so both change in one transaction.
    """

    def __init__(self, ctx: PluginContext[SessionsConfig], sessions: SqlSessionStore) -> None:
        self._ctx = ctx
        self._sessions = sessions

    async def open_one(
        self, db: Reader, project_id: str, agent_id: str, purpose: Purpose
    ) -> Row | None:
        """Find the claim under which a session is being started now."""
        return await db.one(
            f"select * from work_claims where {_KEY} and opened_at is null and expires_at > ?",
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
        await tx.run(f"delete from work_claims where {_KEY} and opened_at is null", *key)
        made = new_id("clm")
        await tx.run(
            "insert into work_claims (id, project_id, agent_id, purpose, supervisor, claimed_at, "
            "expires_at) values (?, ?, ?, ?, ?, ?, ?)",
            *(made, *key, supervisor, self._ctx.now(), self._ctx.clock() + seconds),
        )
        await tx.run(
            "insert into work_turns (project_id, agent_id, purpose, turn) "
            "select ?, ?, ?, coalesce(max(turn), 0) + 1 from work_turns where 1 = 1 "
            "on conflict (project_id, agent_id, purpose) do update set turn = excluded.turn",
            *key,
        )
        return made

    async def turn(self, db: Reader, project_id: str, agent_id: str, purpose: Purpose) -> int:
        """Return a number that grows with every claim of a session; 0 if it was never claimed."""
        row = await db.one(
            f"select turn from work_turns where {_KEY}", project_id, agent_id, purpose
        )
        return int(row["turn"]) if row else 0

    async def end(self, claim_id: str) -> int:
        """Note that a claim's process is gone; end what it opened, and say how many those were."""

        async def end(tx: Tx) -> int:
            row = await tx.one("select project_id from work_claims where id = ?", claim_id)
            if row is None:
                raise CallError(
                    f"there is no claim {claim_id!r}", code="claim_not_found", status=404
                )
            opened = await tx.all(
                "select session_id from work_claim_sessions where claim_id = ?", claim_id
            )
            await tx.run("delete from work_claims where id = ?", claim_id)
            tx.wake(f"sessions:{row['project_id']}")
            return sum(
                [await self._sessions.close(tx, one["session_id"], "revoked") for one in opened]
            )

        return await self._ctx.store.write(end)

    async def opened(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Release the claim that led to this session, and remember what it opened."""
        row = await tx.one(
            f"select id from work_claims where {_KEY} and expires_at > ? "
            "order by expires_at desc limit 1",
            *(session.project_id, session.agent_id, session.purpose, self._ctx.clock()),
        )
        if row is not None:
            await tx.run(
                "update work_claims set opened_at = coalesce(opened_at, ?) where id = ?",
                *(self._ctx.now(), row["id"]),
            )
            await tx.run(
                "insert into work_claim_sessions (claim_id, session_id) values (?, ?)",
                *(row["id"], session.id),
            )
        return {}
