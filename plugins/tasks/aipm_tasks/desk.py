"""The ``TaskDesk`` service, and what the command line and user interfaces do with tasks."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY

from aipm_core import Json, PluginContext, Reader, Row, ServiceKey, Tx
from aipm_tasks.api import Status, Task
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.creation import Creation, NewTask
from aipm_tasks.ledger import Ledger, task_of
from aipm_tasks.moves import Moves
from aipm_tasks.transitions import FINISHED_SQL

OPERATOR = "operator"  # whoever has the command line


class Desk:
    """Tasks, for every path that touches them."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        ledger: Ledger,
        moves: Moves,
        creation: Creation,
        bindings: Bindings,
    ) -> None:
        self._ctx = ctx
        self._ledger = ledger
        self._moves = moves
        self._creation = creation
        self._bindings = bindings
        self._directory = ctx.services.use(DIRECTORY)

    async def find(self, db: Reader, task_id: str) -> Task | None:
        """Find a task."""
        return await self._ledger.find(db, task_id)

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
        self, tx: Tx, task_id: str, status: Status, *, actor_id: str, reason: str | None = None
    ) -> Task:
        """Move a task along the one transition table."""
        task = await self._ledger.find(tx, task_id)
        if task is None:
            raise self._ctx.refuse("task_not_found", 404, task_id=task_id)
        return await self._moves.move(tx, task, status, actor_id=actor_id, reason=reason)

    async def add(self, new: NewTask) -> Task:
        """Make a task for a person."""

        async def unit(tx: Tx) -> Task:
            await self._check_project(tx, new.project_id)
            return await self._creation.create(tx, new)

        return await self._ctx.store.write(unit)

    async def move(self, task_id: str, status: Status, reason: str | None) -> Task:
        """Move a task for whoever has the command line."""
        return await self._ctx.store.write(
            lambda tx: self.change_status(tx, task_id, status, actor_id=OPERATOR, reason=reason)
        )

    async def get(self, task_id: str) -> tuple[Task, list[dict[str, Json]]]:
        """Return a task and its history."""
        task = await self._ledger.find(self._ctx.store, task_id)
        if task is None:
            raise self._ctx.refuse("task_not_found", 404, task_id=task_id)
        return task, await self._ledger.history(self._ctx.store, task_id)

    async def page(
        self,
        project_id: str | None,
        status: Status | None,
        assignee_id: str | None,
        *,
        limit: int,
        after: str | None = None,
    ) -> tuple[list[Task], bool]:
        """List tasks in the order they were made, and say whether there are more."""
        terms = {"project_id": project_id, "status": status, "assignee_id": assignee_id}
        where = [f"{name} = ?" for name, value in terms.items() if value is not None]
        rows = await self._ctx.store.all(
            f"select * from tasks where {' and '.join([*where, 'seq > ?'])} order by seq limit ?",
            *(value for value in terms.values() if value is not None),
            *(await self._place(after, project_id), limit + 1),
        )
        if not rows and project_id is not None:
            await self._check_project(self._ctx.store, project_id)
        return [task_of(row) for row in rows[:limit]], len(rows) > limit

    async def _check_project(self, db: Reader, project_id: str) -> None:
        if await self._directory.project(db, project_id) is None:
            raise self._ctx.refuse("project_not_found", 404, project_id=project_id)

    async def _place(self, after: str | None, project_id: str | None) -> int:
        if after is None:
            return 0
        row: Row | None = await self._ctx.store.one(
            "select seq, project_id from tasks where id = ?", after
        )
        if row is None or project_id not in (None, row["project_id"]):
            raise self._ctx.refuse("task_not_found", 404, task_id=after)
        return int(row["seq"])


DESK = ServiceKey[Desk]("tasks.people")
