"""What becomes of the tasks of an agent that leaves a project."""

from __future__ import annotations

from aipm_core import PluginContext, Tx
from aipm_tasks.config import TasksConfig
from aipm_tasks.editing import Editing
from aipm_tasks.service import SqlTaskService


class Leaving:
    """Its open tasks are nobody's, until somebody else gets them."""

    def __init__(
        self, ctx: PluginContext[TasksConfig], service: SqlTaskService, editing: Editing
    ) -> None:
        self._ctx = ctx
        self._service = service
        self._editing = editing

    async def left(self, tx: Tx, project_id: str, agent_id: str, by: str) -> None:
        """Take all open tasks from an agent."""
        while tasks := await self._service.open_of(tx, agent_id, project_id):
            for task in tasks:
                await self._editing.assign(tx, task, None, actor_id=by)
