"""Who lets a chat session touch tasks."""

from __future__ import annotations

from aipm_core import PluginContext, Session, Tx
from aipm_tasks.api import TaskHooks
from aipm_tasks.config import TasksConfig


class Permissions:
    """Asks every plugin that wants a say."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx

    async def spend(self, tx: Tx, session: Session, tool: str) -> str | None:
        """Use up the permission for one call; return who asked for it, if anybody knows."""
        given = self._ctx.given(TaskHooks.aipm_task_permissions)
        found = [await owned.record.spend(tx, session, tool) for owned in given]
        return next((who for who in found if who is not None), None)
