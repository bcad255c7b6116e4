"""What may happen to a task, for every path: tools, command line, user interface, chat."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY

from aipm_core import CallError, PluginContext, Reader, Session
from aipm_tasks.api import Status, Task
from aipm_tasks.config import TasksConfig
from aipm_tasks.ledger import Ledger
from aipm_tasks.transitions import NEXT, is_finished, may_move


class Rules:
    """Answers with the ``CallError`` that a forbidden change gets."""

    def __init__(self, ctx: PluginContext[TasksConfig], ledger: Ledger) -> None:
        self._ctx = ctx
        self._ledger = ledger
        self._directory = ctx.services.use(DIRECTORY)

    async def check_move(self, db: Reader, task: Task, wanted: Status) -> None:
        """Refuse a step that the table does not have or that its condition forbids."""
        if not may_move(task.status, wanted):
            raise self.no_such_step(task, wanted)
        if wanted == "in_progress":
            await self.check_start(db, task)
        if wanted == "done":
            await self.check_finish(db, task)

    def no_such_step(self, task: Task, wanted: Status) -> CallError:
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
        if await self._ledger.waits_for_others(db, task.id):
            raise self._ctx.refuse("dependencies_unfinished", 409, task_id=task.id)
        for parent in await self._ledger.ancestors(db, task):
            if parent.status == "blocked" or is_finished(parent.status):
                raise self._ctx.refuse(
                    *("parent_not_open", 409),
                    task_id=task.id,
                    parent_id=parent.id,
                    status=parent.status,
                )

    async def check_finish(self, db: Reader, task: Task) -> None:
        """Refuse to call a task done while a subtask is not finished."""
        children = await self._ledger.children(db, task.id)
        open_ones = [child.id for child in children if not is_finished(child.status)]
        if open_ones:
            raise self._ctx.refuse(
                "subtasks_unfinished", 409, task_id=task.id, open=", ".join(open_ones)
            )

    async def check_touch(self, db: Reader, session: Session, task: Task) -> None:
        """Refuse a change by an agent that has nothing to do with the task."""
        if not await self._concerns(db, session, task):
            raise self._ctx.refuse("not_your_task", 403, task_id=task.id)

    async def _concerns(self, db: Reader, session: Session, task: Task) -> bool:
        me = session.agent_id
        if task.assignee_id is None:
            return session.role == "manager" or task.requester_id in (me, None)
        if task.assignee_id == me:
            return True
        if session.role == "manager" and await self._directory.stands_above(
            db, me, task.assignee_id
        ):
            return True
        return any(parent.assignee_id == me for parent in await self._ledger.ancestors(db, task))
