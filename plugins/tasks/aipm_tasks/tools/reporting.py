"""The ``report_completed`` tool."""

from __future__ import annotations

from typing import Literal

from aipm_notifications.api import INBOX
from aipm_sessions.api import SESSIONS
from pydantic import Field

from aipm_core import Arguments, Call, Json, PluginContext, Session, Tx
from aipm_tasks.api import Task, TaskStatus
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.rules import Rules
from aipm_tasks.status_changes import StatusChanges
from aipm_tasks.task_store import TaskStore
from aipm_tasks.transitions import may_move

# A failed task waits for somebody to decide, as a blocked one does; the result says which it was.
_STATUS: dict[str, TaskStatus] = {"success": "done", "failed": "blocked", "blocked": "blocked"}


class ReportCompleted(Arguments):
    """Arguments of ``report_completed``."""

    result: Literal["success", "failed", "blocked"]
    summary: str | None = Field(default=None, max_length=20_000)


class Reporting:
    """Ends the work of a session: its task and nothing else, then the session itself."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        task_store: TaskStore,
        rules: Rules,
        status_changes: StatusChanges,
        bindings: Bindings,
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._rules = rules
        self._status_changes = status_changes
        self._bindings = bindings
        self._sessions = ctx.services.use(SESSIONS)
        self._inbox = ctx.services.find(INBOX)

    async def report_completed(self, call: Call, args: ReportCompleted) -> Json:
        """Report how the session's task went."""
        return await self._ctx.store.write(lambda tx: self._report(tx, call.caller, args))

    async def _report(self, tx: Tx, session: Session, args: ReportCompleted) -> Json:
        # A session that fell silent may have lost its task; its report counts all the same.
        task = await self._bindings.last_task_of(tx, session.id)
        if task is None or task.assignee_id != session.agent_id:
            raise self._ctx.refuse("no_task", 404)
        task = await self._finish(tx, session, task, args)
        await tx.run(
            "update tasks set result = ?, summary = ? where id = ?",
            *(args.result, args.summary, task.id),
        )
        await self._bindings.free(tx, session.id)
        if self._inbox is not None:
            await self._inbox.settle(
                tx, agent_id=session.agent_id, project_id=session.project_id, task_id=task.id
            )
        await self._sessions.close(tx, session.id, "completed")
        return {
            "success": True,
            "task_id": task.id,
            "status": task.status,
            "instruction": self._ctx.texts("instructions.reported"),
        }

    async def _finish(self, tx: Tx, session: Session, task: Task, args: ReportCompleted) -> Task:
        """Move the task, unless somebody has already stopped it or brought it to the same end."""
        wanted = _STATUS[args.result]
        if may_move(task.status, wanted):
            return await self._status_changes.move(
                tx, task, wanted, actor_id=session.agent_id, reason=args.summary
            )
        if wanted == "done" and task.status != "done":
            raise self._rules.no_such_step(task, wanted)
        return await self._task_store.changed(
            tx, task, actor_id=session.agent_id, what="reported", reason=args.summary
        )
