"""What may happen to a task, for every path: tools, command line, user interface, chat."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY

from aipm_core import CallError, PluginContext, Reader, Role, Session
from aipm_tasks.api import Task, TaskStatus
from aipm_tasks.config import TasksConfig
from aipm_tasks.task_store import TaskStore
from aipm_tasks.transitions import NEXT, is_finished, may_move


class Rules:
    """Answers with the ``CallError`` that a forbidden change gets."""

    def __init__(self, ctx: PluginContext[TasksConfig], task_store: TaskStore) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._directory = ctx.services.use(DIRECTORY)

    async def check_move(self, db: Reader, task: Task, wanted: TaskStatus) -> None:
        """Refuse a step that the table does not have or that its condition forbids."""
        if not may_move(task.status, wanted):
            raise self.no_such_step(task, wanted)
        if wanted == "in_progress":
            await self.check_start(db, task)
        if wanted == "done":
            await self.check_finish(db, task)

    def no_such_step(self, task: Task, wanted: TaskStatus) -> CallError:
        """Make the refusal of a step that is not in the table."""
        allowed = ", ".join(NEXT[task.status]) or "-"
        return self._ctx.refuse(
            *("invalid_transition", 409),
            task_id=task.id,
            current=task.status,
            wanted=wanted,
            allowed=allowed,
        )

    async def check_start(self, db: Reader, task: Task) -> None:
        """Refuse to start what is not approved, or waits for others, or stands below a stop."""
        if task.approval_status != "approved":
            raise self._ctx.refuse(
                "task_not_approved", 409, task_id=task.id, approval=task.approval_status
            )
        if await self._task_store.waits_for_others(db, task.id):
            raise self._ctx.refuse("dependencies_unfinished", 409, task_id=task.id)
        for parent in await self._task_store.ancestors(db, task):
            if parent.status == "blocked" or is_finished(parent.status):
                raise self._ctx.refuse(
                    *("parent_not_open", 409),
                    task_id=task.id,
                    parent_id=parent.id,
                    status=parent.status,
                )

    async def check_finish(self, db: Reader, task: Task) -> None:
        """Refuse to call a task done while a subtask is not finished."""
        children = await self._task_store.children(db, task.id)
        open_ones = [child.id for child in children if not is_finished(child.status)]
        if open_ones:
            raise self._ctx.refuse(
                "subtasks_unfinished", 409, task_id=task.id, open=", ".join(open_ones)
            )

    async def check_touch(self, db: Reader, session: Session, task: Task) -> None:
        """Refuse a change by an agent that has nothing to do with the task."""
        if not await self._concerns(db, session.agent_id, session.role, task):
            raise self._ctx.refuse("not_your_task", 403, task_id=task.id)

    async def check_authority(self, db: Reader, agent_id: str, task: Task) -> None:
        """Refuse a change that somebody wishes who has no authority over the task."""
        if not await self._has_authority(db, agent_id, task):
            raise self._ctx.refuse("requester_not_allowed", 403, agent_id=agent_id, task_id=task.id)

    async def _has_authority(self, db: Reader, agent_id: str, task: Task) -> bool:
        """A person of the project, whoever stands above the assignee, whoever may change it."""
        agent = await self._directory.agent(db, agent_id)
        if agent is None or not await self._directory.is_member(db, agent_id, task.project_id):
            return False
        if agent.kind == "human":
            return True
        if await self._directory.is_ancestor(db, agent_id, task.assignee_id or ""):
            return True
        return await self._concerns(db, agent_id, agent.role, task)

    async def _concerns(self, db: Reader, me: str, role: Role, task: Task) -> bool:
        if task.assignee_id is None:
            return role == "manager" or task.requester_id in (me, None)
        if task.assignee_id == me:
            return True
        if role == "manager" and await self._directory.is_ancestor(db, me, task.assignee_id):
            return True
        return any(
            parent.assignee_id == me for parent in await self._task_store.ancestors(db, task)
        )
