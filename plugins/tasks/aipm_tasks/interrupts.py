"""Stops the agents whose running tasks somebody else blocked or cancelled."""

from __future__ import annotations

from collections.abc import Sequence

from aipm_notifications.api import INBOX

from aipm_core import PluginContext, Tx, quoted
from aipm_tasks.api import Task
from aipm_tasks.config import TasksConfig
from aipm_tasks.workers import Workers

MAX_REASON_CHARACTERS = 200  # where it is quoted; the field beside it holds all of it
_ACTIONS = {"blocked": "blocked", "cancelled": "cancel", "reassigned": "cancel"}


class Interrupts:
    """Leaves interrupts, if the notifications plugin is on."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx
        self._inbox = ctx.services.find(INBOX)
        self._workers = Workers(ctx)

    async def send(
        self, tx: Tx, stopped: Sequence[Task], status: str, *, actor_id: str, reason: str | None
    ) -> None:
        """Tell each agent once: ``stopped`` are tasks as they were, parents before children."""
        by_id = {task.id: task for task in stopped}
        for task in stopped:
            if task.assignee_id in (None, actor_id):
                continue
            parent = by_id.get(task.parent_task_id or "")
            if _same_work(parent, task):
                continue  # worked on in its parent's session, which is told about the parent
            await self._tell(tx, task, status, reason)

    async def _tell(self, tx: Tx, task: Task, status: str, reason: str | None) -> None:
        if self._inbox is None or task.assignee_id is None:
            return
        session_id, running = None, task.status == "in_progress"
        if running:
            session_id, running = await self._workers.to_stop(tx, task)
        said = {"title": quoted(task.title), "reason": quoted(reason or "", MAX_REASON_CHARACTERS)}
        kind = "with_reason" if reason else "plain"
        await self._inbox.put(
            tx,
            agent_id=task.assignee_id,
            project_id=task.project_id,
            type="interrupt" if running else "message",
            action=_ACTIONS[status],
            message=self._ctx.texts(f"stopped.{status}.{kind}", **said),
            instruction=await self._instruction(tx, task, status, running=running),
            audience="task",
            task_id=task.id,
            reason=reason,
            session_id=session_id,
        )

    async def settle(self, tx: Tx, task: Task) -> None:
        """Take back what nobody has read yet of a block that is lifted."""
        if self._inbox is not None and task.assignee_id is not None:
            about = {"project_id": task.project_id, "task_id": task.id}
            await self._inbox.settle(tx, agent_id=task.assignee_id, **about)

    async def _instruction(self, tx: Tx, task: Task, status: str, *, running: bool) -> str:
        if status == "reassigned":
            return self._ctx.texts("stopped.instructions.reassigned", task_id=task.id)
        if not running:
            return self._ctx.texts("stopped.instructions.not_started", task_id=task.id)
        row = await tx.one(
            "select 1 from tasks where id = ? and assignee_id = ? and status = 'in_progress'",
            *(task.parent_task_id, task.assignee_id),
        )
        kind = "subtask" if row else "task"
        return self._ctx.texts(f"stopped.instructions.{kind}", task_id=task.id)


def _same_work(parent: Task | None, task: Task) -> bool:
    return (
        parent is not None
        and parent.status == "in_progress"
        and parent.assignee_id == task.assignee_id
    )
