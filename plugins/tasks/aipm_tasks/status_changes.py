"""Moves tasks along the table, together with everything a move entails."""

from __future__ import annotations

from aipm_core import PluginContext, Tx
from aipm_tasks.api import Task, TaskStatus
from aipm_tasks.blocks import Blocks
from aipm_tasks.config import TasksConfig
from aipm_tasks.holding import wake_below
from aipm_tasks.interrupts import Interrupts
from aipm_tasks.rules import Rules
from aipm_tasks.task_store import TaskStore
from aipm_tasks.transitions import is_finished, may_move

_STOPS: tuple[TaskStatus, ...] = ("blocked", "cancelled")


class StatusChanges:
    """The only writer of a status."""

    def __init__(
        self, ctx: PluginContext[TasksConfig], task_store: TaskStore, rules: Rules
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._rules = rules
        self._blocks = Blocks(ctx)
        self._interrupts = Interrupts(ctx)

    async def move(
        self,
        tx: Tx,
        task: Task,
        status: TaskStatus,
        *,
        actor_id: str,
        reason: str | None = None,
        told: bool = False,
    ) -> Task:
        """Move one task; a stop reaches its descendants and their agents.

        ``told`` says that the caller itself tells the task's own agent.
        """
        await self._rules.check_move(tx, task, status)
        await self._blocks.check_lift(tx, task, actor_id)
        if "blocked" in (task.status, status):
            await wake_below(tx, task.project_id, task.id)
        if task.status == "blocked":
            await self._interrupts.settle(tx, task)
        if status not in _STOPS:
            return await self._task_store.set_status(
                tx, task, status, actor_id=actor_id, reason=reason
            )
        stopped = [task, *await self._below(tx, task, status)]
        await self._interrupts.send(
            tx, stopped[1:] if told else stopped, status, actor_id=actor_id, reason=reason
        )
        inherited = self._ctx.texts(f"stopped.inherited.{status}", task_id=task.id)
        for descendant in stopped[1:]:
            await self._task_store.set_status(
                tx, descendant, status, actor_id=actor_id, reason=inherited, through=task.id
            )
        return await self._task_store.set_status(tx, task, status, actor_id=actor_id, reason=reason)

    async def _below(self, tx: Tx, task: Task, status: TaskStatus) -> list[Task]:
        """List the descendants a stop reaches, parents first: those that may make the same step.

        What has not started stays as it is when an ancestor is blocked, which holds it: it cannot
        start.
        """
        found: list[Task] = []
        level = await self._task_store.children(tx, task.id)
        while level:
            found += [child for child in level if may_move(child.status, status)]
            level = [
                grandchild
                for child in level
                if not is_finished(child.status)
                for grandchild in await self._task_store.children(tx, child.id)
            ]
        return found
