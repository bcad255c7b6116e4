"""The record of delegations: who asked for what, who has it, what became of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aipm_core import Json, PluginContext, Reader, Row, Session, Tx, new_id
from aipm_delegation.config import DelegationConfig

DelegationStatus: TypeAlias = Literal["pending", "processing", "completed", "failed"]
Outcome: TypeAlias = Literal["completed", "failed"]
_SELECT = "select * from chat_delegations where "
_OLDEST = " order by created_at, id"
_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """A wish of a task session that a chat session of the same agent fulfils."""

    id: str
    agent_id: str
    project_id: str
    target_agent_id: str
    purpose: str
    context: str | None
    status: DelegationStatus
    created_at: str
    processed_at: str | None
    result: Json
    task_id: str | None
    attempts: int
    chat_session_id: str | None

    @property
    def over(self) -> bool:
        """Return whether it has its result."""
        return self.status in {"completed", "failed"}


def topic(project_id: str, agent_id: str) -> str:
    """Name what is woken when a delegation of an agent is made, given back or finished."""
    return f"delegations:{project_id}:{agent_id}"


class DelegationStore:
    """Reads and writes delegations. Changes happen in their caller's transaction."""

    def __init__(self, ctx: PluginContext[DelegationConfig]) -> None:
        self._ctx = ctx

    async def find(self, db: Reader, delegation_id: str) -> Delegation | None:
        """Find a delegation."""
        row = await db.one(_SELECT + "id = ?", delegation_id)
        return _delegation(row) if row else None

    async def pending(self, db: Reader, session: Session, limit: int = _MOST) -> list[Delegation]:
        """List what waits for a chat session of this agent, oldest first."""
        sql = _SELECT + "project_id = ? and agent_id = ? and status = 'pending'" + _OLDEST
        rows = await db.all(sql + " limit ?", session.project_id, session.agent_id, limit)
        return [_delegation(row) for row in rows]

    async def open_towards(self, db: Reader, session: Session, target_id: str) -> list[Delegation]:
        """List the unfinished ones about one partner: this session's own first, then by age."""
        rows = await db.all(
            _SELECT + "project_id = ? and agent_id = ? and target_agent_id = ? "
            "and status in ('pending', 'processing') order by "
            "case when status = 'pending' then 2 when chat_session_id = ? then 0 else 1 end, "
            "created_at, id limit ?",
            *(session.project_id, session.agent_id, target_id, session.id, _MOST),
        )
        return [_delegation(row) for row in rows]

    async def held_by(self, db: Reader, chat_session_id: str) -> list[Delegation]:
        """List what a chat session has taken and not finished."""
        rows = await db.all(
            _SELECT + "chat_session_id = ? and status = 'processing'" + _OLDEST, chat_session_id
        )
        return [_delegation(row) for row in rows]

    async def of_task(
        self, db: Reader, task_id: str | None, task_session_id: str
    ) -> list[Delegation]:
        """List the newest of a task, or of a session that had none, oldest first."""
        if task_id is None:
            where, key = "task_session_id = ?", task_session_id
        else:
            where, key = "task_id = ?", task_id
        rows = await db.all(
            _SELECT + where + " order by created_at desc, id desc limit ?", key, _MOST
        )
        return [_delegation(row) for row in reversed(rows)]

    async def add(
        self,
        tx: Tx,
        session: Session,
        target_id: str,
        purpose: str,
        context: str | None,
        task_id: str | None,
    ) -> str:
        """Write down a new one and return its id."""
        made = new_id("dlg")
        await tx.run(
            "insert into chat_delegations (id, agent_id, project_id, target_agent_id, purpose, "
            "context, status, created_at, task_id, task_session_id) "
            "values (?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?)",
            *(made, session.agent_id, session.project_id, target_id, purpose, context),
            *(self._ctx.now(), task_id, session.id),
        )
        tx.wake(topic(session.project_id, session.agent_id))
        return made

    async def take(self, tx: Tx, delegation: Delegation, session: Session) -> None:
        """Give it to a chat session, for as long as the session is heard of."""
        await tx.run(
            "update chat_delegations set status = 'processing', attempts = attempts + 1, "
            "chat_session_id = ?, leased_until = ? where id = ? and status = 'pending'",
            *(session.id, self._ctx.clock() + self._ctx.config.lease_seconds, delegation.id),
        )
        self._wake(tx, delegation)

    async def prolong(self, tx: Tx, delegation_id: str, until: float) -> None:
        """Let its session keep it."""
        await tx.run(
            "update chat_delegations set leased_until = ? where id = ? and status = 'processing'",
            *(until, delegation_id),
        )

    async def give_back(self, tx: Tx, delegation: Delegation) -> None:
        """Offer it again."""
        await tx.run(
            "update chat_delegations set status = 'pending', chat_session_id = null, "
            "leased_until = null where id = ? and status = 'processing'",
            delegation.id,
        )
        self._wake(tx, delegation)

    async def finish(self, tx: Tx, delegation: Delegation, outcome: Outcome, result: Json) -> None:
        """Write down what became of it."""
        text = None if result is None else json.dumps(result, ensure_ascii=False)
        await tx.run(
            "update chat_delegations set status = ?, processed_at = ?, result = ?, "
            "leased_until = null where id = ? and status in ('pending', 'processing')",
            *(outcome, self._ctx.now(), text, delegation.id),
        )
        self._wake(tx, delegation)

    def _wake(self, tx: Tx, delegation: Delegation) -> None:
        tx.wake(topic(delegation.project_id, delegation.agent_id))


def _delegation(row: Row) -> Delegation:
    return Delegation(
        id=row["id"],
        agent_id=row["agent_id"],
        project_id=row["project_id"],
        target_agent_id=row["target_agent_id"],
        purpose=row["purpose"],
        context=row["context"],
        status=row["status"],
        created_at=row["created_at"],
        processed_at=row["processed_at"],
        result=None if row["result"] is None else json.loads(row["result"]),
        task_id=row["task_id"],
        attempts=row["attempts"],
        chat_session_id=row["chat_session_id"],
    )
