"""Whose block a task is under, and who may lift it."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY, OPERATOR

from aipm_core import PluginContext, Reader
from aipm_tasks.api import Task
from aipm_tasks.config import TasksConfig


class Blocks:
    """A block that an agent reported is a question; one that was put on it is an order."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)

    async def check_lift(self, db: Reader, task: Task, actor_id: str) -> None:
        """Refuse to let somebody out of a block that somebody else put on the task."""
        if task.status != "blocked" or await self._is_person(db, actor_id):
            return
        row = await db.one("select blocked_by, blocked_through from tasks where id = ?", task.id)
        by, through = (row["blocked_by"] or OPERATOR, row["blocked_through"]) if row else ("", None)
        if by in (actor_id, task.assignee_id) or await self._is_lifted(db, through):
            return
        if await self._is_person(db, by) or not await self._directory.is_ancestor(db, actor_id, by):
            raise self._ctx.refuse("blocked_by_other", 403, task_id=task.id, blocked_by=by)

    async def _is_person(self, db: Reader, who: str) -> bool:
        if who == OPERATOR:
            return True
        agent = await self._directory.agent(db, who)
        return agent is not None and agent.kind == "human"

    async def _is_lifted(self, db: Reader, ancestor_id: str | None) -> bool:
        """Return whether the task came to its block through one above that is free again."""
        if ancestor_id is None:
            return False
        row = await db.one("select status from tasks where id = ?", ancestor_id)
        return row is not None and row["status"] != "blocked"
