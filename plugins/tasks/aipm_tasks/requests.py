"""Task requests: an agent is asked to do something, and somebody above it approves."""

from __future__ import annotations

from aipm_notifications.api import INBOX
from aipm_sessions.api import DIRECTORY, OPERATOR, PendingDecision

from aipm_core import CallError, PluginContext, Reader, Row, Tx, quoted
from aipm_tasks.api import Task
from aipm_tasks.config import TasksConfig
from aipm_tasks.interrupts import MAX_REASON_CHARACTERS
from aipm_tasks.status_changes import StatusChanges
from aipm_tasks.task_store import TaskStore, task_of
from aipm_tasks.wordings import named_by, request_id


class Requests:
    """Decides pending requests: the ``DecisionSource`` of this plugin."""

    def __init__(
        self, ctx: PluginContext[TasksConfig], task_store: TaskStore, status_changes: StatusChanges
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._status_changes = status_changes
        self._directory = ctx.services.use(DIRECTORY)
        self._inbox = ctx.services.find(INBOX)

    async def pending(self, db: Reader, project_id: str | None) -> list[PendingDecision]:
        """List the requests that wait, oldest first."""
        where = "approval_status = 'pending_approval'"
        named = () if project_id is None else (project_id,)
        rows = await db.all(
            f"select * from tasks where {where}{' and project_id = ?' if named else ''} "
            "order by seq limit 500",
            *named,
        )
        return [_decision(row) for row in rows]

    async def answer(
        self, decision_id: str, *, approved: bool, by: str, reason: str | None
    ) -> bool:
        """Answer a request for a person; ``False`` if the id is not a request's."""

        async def unit(tx: Tx) -> bool:
            row = await self._find(tx, decision_id)
            if row is None or not _was_request(row):
                return False
            await self._check_person(tx, by, task_of(row))
            await self.decide(tx, decision_id, approved=approved, by=by, reason=reason)
            return True

        return await self._ctx.store.write(unit)

    async def in_project(self, db: Reader, request: str, project_id: str) -> Task:
        """Find the task a request of a project is about."""
        row = await self._find(db, request)
        if row is None or row["project_id"] != project_id:
            raise self._ctx.refuse("task_not_found", 404, task_id=quoted(request))
        return task_of(row)

    async def decide(
        self, tx: Tx, request: str, *, approved: bool, by: str, reason: str | None
    ) -> Task:
        """Approve or reject a request that is still open; a rejected task is cancelled."""
        task = await self._open(tx, request)
        answer = "approved" if approved else "rejected"
        await tx.run(
            "update tasks set approval_status = ?, approval_by = ?, updated_at = ? where id = ?",
            *(answer, by, self._ctx.now(), task.id),
        )
        task = await self._task_store.changed(tx, task, actor_id=by, what=answer, reason=reason)
        if not approved:
            task = await self._status_changes.move(
                tx, task, "cancelled", actor_id=by, reason=reason, told=True
            )
        await self._tell_concerned(tx, task, answer, by, reason)
        return task

    async def _find(self, db: Reader, request: str) -> Row | None:
        """Find the task of a request; a wording there has never been is nobody's."""
        task_id, wording = named_by(request)
        row = await db.one("select * from tasks where id = ?", task_id)
        return row if row is not None and wording <= row["wording"] else None

    async def _open(self, db: Reader, request: str) -> Task:
        """Find the task of a request that waits, in the wording the answer is for."""
        row = await self._find(db, request)
        if row is None:
            raise self._ctx.refuse("task_not_found", 404, task_id=quoted(request))
        task, now = task_of(row), request_id(row["id"], row["wording"])
        if task.approval_status != "pending_approval":
            state = {"task_id": task.id, "approval": task.approval_status}
            raise self._ctx.refuse("task_request_already_processed", 409, **state)
        if request != now:
            shown = {"task_id": task.id, "request_id": now, "title": quoted(task.title)}
            raise self._ctx.refuse("task_request_changed", 409, **shown)
        return task

    async def _tell_concerned(
        self, tx: Tx, task: Task, answer: str, by: str, reason: str | None
    ) -> None:
        if self._inbox is None:
            return
        kind = "with_reason" if reason else "plain"
        said = {"title": quoted(task.title), "reason": quoted(reason or "", MAX_REASON_CHARACTERS)}
        for agent_id in {task.assignee_id, task.requester_id} - {None, by}:
            if await self._directory.is_member(tx, str(agent_id), task.project_id):
                await self._inbox.put(
                    tx,
                    agent_id=str(agent_id),
                    project_id=task.project_id,
                    type="message",
                    action=f"task_request_{answer}",
                    message=self._ctx.texts(f"requests.{answer}.{kind}", **said),
                    task_id=task.id,
                    reason=reason,
                )

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


def _decision(row: Row) -> PendingDecision:
    task = task_of(row)
    requester = f" (requested by {task.requester_id})" if task.requester_id else ""
    return PendingDecision(
        id=request_id(task.id, row["wording"]),
        kind="task_request",
        project_id=task.project_id,
        agent_id=task.assignee_id or "",
        summary=f'"{quoted(task.title)}"{requester}',
        created_at=task.created_at,
    )
