"""Task requests: an agent is asked to do something, and somebody above it approves."""

from __future__ import annotations

from aipm_notifications.api import INBOX
from aipm_sessions.api import DIRECTORY, Agent, Decision

from aipm_core import CallError, PluginContext, Reader, Row, Tx
from aipm_tasks.api import Task
from aipm_tasks.config import TasksConfig
from aipm_tasks.desk import OPERATOR
from aipm_tasks.ledger import Ledger, task_of
from aipm_tasks.moves import Moves


class Requests:
    """Decides pending requests: the ``DecisionSource`` of this plugin."""

    def __init__(self, ctx: PluginContext[TasksConfig], ledger: Ledger, moves: Moves) -> None:
        self._ctx = ctx
        self._ledger = ledger
        self._moves = moves
        self._directory = ctx.services.use(DIRECTORY)
        self._inbox = ctx.services.find(INBOX)

    async def pending(self, db: Reader, project_id: str | None) -> list[Decision]:
        """List the requests that wait, oldest first."""
        where = "approval_status = 'pending_approval'"
        named = () if project_id is None else (project_id,)
        rows = await db.all(
            f"select * from tasks where {where}{' and project_id = ?' if named else ''} "
            "order by seq limit 500",
            *named,
        )
        return [_decision(task_of(row)) for row in rows]

    async def answer(
        self, decision_id: str, *, approved: bool, by: str, reason: str | None
    ) -> bool:
        """Answer a request for a person; ``False`` if the id is not a request's."""

        async def unit(tx: Tx) -> bool:
            row = await tx.one("select * from tasks where id = ?", decision_id)
            if row is None or not _was_request(row):
                return False
            task = task_of(row)
            await self._check_person(tx, by, task)
            await self.decide(tx, task, approved=approved, by=by, reason=reason)
            return True

        return await self._ctx.store.write(unit)

    async def decide(
        self, tx: Tx, task: Task, *, approved: bool, by: str, reason: str | None
    ) -> Task:
        """Approve or reject a request that is still open; a rejected task is cancelled."""
        if task.approval_status != "pending_approval":
            raise self._ctx.refuse(
                "task_request_already_processed",
                409,
                task_id=task.id,
                approval=task.approval_status,
            )
        answer = "approved" if approved else "rejected"
        await tx.run(
            "update tasks set approval_status = ?, approval_by = ?, updated_at = ? where id = ?",
            *(answer, by, self._ctx.now(), task.id),
        )
        task = await self._ledger.changed(tx, task, actor_id=by, what=answer, reason=reason)
        if not approved:
            task = await self._moves.move(
                tx, task, "cancelled", actor_id=by, reason=reason, told=True
            )
        await self._tell_concerned(tx, task, answer, by, reason)
        return task

    async def tell_approvers(self, tx: Tx, task: Task) -> None:
        """Let the managers above the assignee know that a request waits."""
        for manager in await self._above(tx, task.assignee_id):
            in_project = await self._directory.is_member(tx, manager.id, task.project_id)
            if self._inbox and manager.role == "manager" and in_project:
                values = {"task_id": task.id, "title": task.title}
                await self._inbox.put(
                    tx,
                    agent_id=manager.id,
                    project_id=task.project_id,
                    type="message",
                    action="approve_task_request",
                    message=self._ctx.texts("requests.pending.message", **values),
                    instruction=self._ctx.texts("requests.pending.instruction", **values),
                    task_id=task.id,
                )

    async def _tell_concerned(
        self, tx: Tx, task: Task, answer: str, by: str, reason: str | None
    ) -> None:
        if self._inbox is None:
            return
        kind = "with_reason" if reason else "plain"
        values = {"task_id": task.id, "title": task.title, "reason": reason or ""}
        for agent_id in {task.assignee_id, task.requester_id} - {None, by}:
            if await self._directory.is_member(tx, str(agent_id), task.project_id):
                await self._inbox.put(
                    tx,
                    agent_id=str(agent_id),
                    project_id=task.project_id,
                    type="message",
                    action=f"task_request_{answer}",
                    message=self._ctx.texts(f"requests.{answer}.{kind}", **values),
                    task_id=task.id,
                )

    async def _above(self, db: Reader, agent_id: str | None) -> list[Agent]:
        found: list[Agent] = []
        agent = await self._directory.agent(db, agent_id) if agent_id else None
        while agent is not None and agent.parent_id is not None:
            agent = await self._directory.agent(db, agent.parent_id)
            if agent is None or agent in found:
                break
            found.append(agent)
        return found

    async def _check_person(self, db: Reader, by: str, task: Task) -> None:
        if by == OPERATOR:
            return
        person = await self._directory.agent(db, by)
        if person is None or person.kind != "human":
            raise self.not_allowed(task)
        if not await self._directory.is_member(db, by, task.project_id):
            raise self.not_allowed(task)

    def not_allowed(self, task: Task) -> CallError:
        """Make the refusal for somebody who does not stand above the assignee."""
        return self._ctx.refuse("approval_not_allowed", 403, task_id=task.id)


def _was_request(row: Row) -> bool:
    return row["approval_status"] != "approved" or row["approval_by"] is not None


def _decision(task: Task) -> Decision:
    requester = f" (requested by {task.requester_id})" if task.requester_id else ""
    return Decision(
        id=task.id,
        kind="task_request",
        project_id=task.project_id,
        agent_id=task.assignee_id or "",
        summary=f"{task.title}{requester}",
        created_at=task.created_at,
    )
