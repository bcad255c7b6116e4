"""Puts requests before those who may approve them."""

from __future__ import annotations

from aipm_notifications.api import INBOX
from aipm_sessions.api import DIRECTORY, Agent

from aipm_core import PluginContext, Reader, Tx, quoted
from aipm_tasks.api import Task
from aipm_tasks.config import TasksConfig
from aipm_tasks.wordings import is_reworded, request_id


class Approvers:
    """The managers above an assignee, if the notifications plugin is on."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)
        self._inbox = ctx.services.find(INBOX)

    async def tell(self, tx: Tx, task: Task) -> None:
        """Let them know that a request waits, and under which id it is answered now."""
        row = await tx.one("select wording from tasks where id = ?", task.id)
        wording = int(row["wording"]) if row else 1
        named = request_id(task.id, wording)
        kind = "pending" if wording == 1 else "changed"
        for manager in await self._above(tx, task.assignee_id):
            in_project = await self._directory.is_member(tx, manager.id, task.project_id)
            if self._inbox and manager.role == "manager" and in_project:
                await self._inbox.put(
                    tx,
                    agent_id=manager.id,
                    project_id=task.project_id,
                    type="message",
                    action="approve_task_request",
                    message=self._ctx.texts(f"requests.{kind}.message", title=quoted(task.title)),
                    instruction=self._ctx.texts("requests.instruction", request_id=named),
                    task_id=task.id,
                )

    async def tell_again(self, tx: Tx, before: Task, after: Task) -> None:
        """Put a request before them once more if it asks for something else now."""
        if is_reworded(before, after):
            await self.tell(tx, after)

    async def _above(self, db: Reader, agent_id: str | None) -> list[Agent]:
        found: list[Agent] = []
        agent = await self._directory.agent(db, agent_id) if agent_id else None
        while agent is not None and agent.parent_id is not None:
            agent = await self._directory.agent(db, agent.parent_id)
            if agent is None or agent in found:
                break
            found.append(agent)
        return found
