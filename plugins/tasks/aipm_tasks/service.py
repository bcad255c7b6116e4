"""The ``TaskService``: tasks for plugins, the command line and user interfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aipm_sessions.api import DIRECTORY, OPERATOR

from aipm_core import Json, PluginContext, Reader, Row, Tx
from aipm_tasks.api import NewTask, Task, TaskStatus
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.creation import Creation
from aipm_tasks.rules import Rules
from aipm_tasks.status_changes import StatusChanges
from aipm_tasks.task_store import TaskStore, task_of
from aipm_tasks.transitions import FINISHED_SQL


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks are listed; ``None`` is all of them."""

    projects: Sequence[str] | None = None
    status: TaskStatus | None = None
    assignee_id: str | None = None
    archived: bool = False
    """Whether those that were put away are listed too."""

    def terms(self) -> tuple[list[str], list[str]]:
        """Return the conditions and their values."""
        where, values = list[str](), list[str]()
        if self.projects is not None:
            where.append(f"project_id in ({', '.join('?' for _ in self.projects) or 'null'})")
            values += self.projects
        for name, value in (("status", self.status), ("assignee_id", self.assignee_id)):
            if value is not None:
                where.append(f"{name} = ?")
                values.append(value)
        if not self.archived:
            where.append("archived_at is null")
        return where, values


class SqlTaskService:
    """Tasks, for every path that touches them."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        task_store: TaskStore,
        rules: Rules,
        status_changes: StatusChanges,
        creation: Creation,
        bindings: Bindings,
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._rules = rules
        self._status_changes = status_changes
        self._creation = creation
        self._bindings = bindings
        self._directory = ctx.services.use(DIRECTORY)

    async def find(self, db: Reader, task_id: str) -> Task | None:
        """Find a task."""
        return await self._task_store.find(db, task_id)

    async def of_session(self, db: Reader, session_id: str) -> Task | None:
        """Return the task a session is bound to."""
        return await self._bindings.task_of(db, session_id)

    async def open_of(self, db: Reader, agent_id: str, project_id: str) -> list[Task]:
        """List an agent's unfinished tasks in a project, most urgent first."""
        rows = await db.all(
            "select * from tasks where project_id = ? and assignee_id = ? "
            f"and status not in {FINISHED_SQL} order by rank, seq limit 200",
            *(project_id, agent_id),
        )
        return [task_of(row) for row in rows]

    async def change_status(
        self, tx: Tx, task_id: str, status: TaskStatus, *, actor_id: str, reason: str | None = None
    ) -> Task:
        """Move a task along the one transition table."""
        task = await self._task_store.find(tx, task_id)
        if task is None:
            raise self._ctx.refuse("task_not_found", 404, task_id=task_id)
        return await self._status_changes.move(tx, task, status, actor_id=actor_id, reason=reason)

    async def check_authority(self, db: Reader, agent_id: str, task: Task) -> None:
        """Refuse a change that somebody wishes who has no authority over the task."""
        await self._rules.check_authority(db, agent_id, task)

    async def add(self, new: NewTask) -> Task:
        """Make a task for a person."""

        async def unit(tx: Tx) -> Task:
            await self._check_project(tx, new.project_id)
            return await self._creation.create(tx, new)

        return await self._ctx.store.write(unit)

    async def move(self, task_id: str, status: TaskStatus, reason: str | None) -> Task:
        """Move a task for whoever has the command line."""
        return await self._ctx.store.write(
            lambda tx: self.change_status(tx, task_id, status, actor_id=OPERATOR, reason=reason)
        )

    async def get(self, task_id: str) -> tuple[Task, list[dict[str, Json]]]:
        """Return a task and its history."""
        task = await self._task_store.find(self._ctx.store, task_id)
        if task is None:
            raise self._ctx.refuse("task_not_found", 404, task_id=task_id)
        return task, await self._task_store.history(self._ctx.store, task_id)

    async def page(
        self,
        project_id: str | None,
        status: TaskStatus | None,
        assignee_id: str | None,
        *,
        limit: int,
        after: str | None = None,
    ) -> tuple[list[Task], bool]:
        """List tasks in the order they were made, and say whether there are more."""
        projects = None if project_id is None else (project_id,)
        wanted = TaskFilter(projects=projects, status=status, assignee_id=assignee_id)
        found = await self.listed(wanted, limit=limit, after=after)
        if not found[0] and project_id is not None:
            await self._check_project(self._ctx.store, project_id)
        return found

    async def listed(
        self, wanted: TaskFilter, *, limit: int, after: str | None = None
    ) -> tuple[list[Task], bool]:
        """List what a filter lets through, as ``page`` does."""
        where, values = wanted.terms()
        rows = await self._ctx.store.all(
            f"select * from tasks where {' and '.join([*where, 'seq > ?'])} order by seq limit ?",
            *(*values, await self._place(after, wanted.projects), limit + 1),
        )
        return [task_of(row) for row in rows[:limit]], len(rows) > limit

    async def _check_project(self, db: Reader, project_id: str) -> None:
        if await self._directory.project(db, project_id) is None:
            raise self._ctx.refuse("project_not_found", 404, project_id=project_id)

    async def _place(self, after: str | None, projects: Sequence[str] | None) -> int:
        if after is None:
            return 0
        row: Row | None = await self._ctx.store.one(
            "select seq, project_id from tasks where id = ?", after
        )
        if row is None or (projects is not None and row["project_id"] not in projects):
            raise self._ctx.refuse("task_not_found", 404, task_id=after)
        return int(row["seq"])
