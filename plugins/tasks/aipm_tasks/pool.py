"""Tasks of nobody in projects with a pool: each goes to one worker who has nothing else to do."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY

from aipm_core import PluginContext, Reader, Tx
from aipm_tasks.api import Task
from aipm_tasks.bindings import STARTABLE
from aipm_tasks.config import TasksConfig
from aipm_tasks.task_store import TaskStore, task_of
from aipm_tasks.transitions import FINISHED_SQL

_FREE = (
    "select t.* from tasks t where t.project_id = ? and t.assignee_id is null "
    f"and t.parent_task_id is null and {STARTABLE} limit 1"
)
# Whoever has a task at hand, or one that could begin, has something else to do.
_BUSY = (
    "select 1 from tasks t where t.project_id = ? and t.assignee_id = ? and "
    "(t.status = 'in_progress' or (t.status = 'todo' and t.approval_status = 'approved' and not "
    "exists (select 1 from task_dependencies d join tasks o on o.id = d.depends_on "
    f"where d.task_id = t.id and o.status not in {FINISHED_SQL}))) limit 1"
)
_TAKE = "update tasks set assignee_id = ?, updated_at = ? where id = ? and assignee_id is null"


class Pool:
    """A worker is an agent with the role ``worker``; parts of a task belong to who works on it."""

    def __init__(self, ctx: PluginContext[TasksConfig], task_store: TaskStore) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._directory = ctx.services.use(DIRECTORY)

    async def offers(self, db: Reader) -> list[tuple[str, Task]]:
        """List the workers who may take a task now, each with the one that is next."""
        found: list[tuple[str, Task]] = []
        for project in await self._directory.projects(db):
            task = await self._next(db, project.id) if project.pool else None
            if task is not None:
                members = await self._directory.members(db, project.id)
                free = [one.id for one in members if await self._may_take(db, one.id, project.id)]
                found += [(agent_id, task) for agent_id in free]
        return found

    async def take(self, tx: Tx, agent_id: str, project_id: str) -> Task | None:
        """Give the next task to an agent, if there is one and the agent may have it."""
        project = await self._directory.project(tx, project_id)
        if (
            project is None
            or not project.pool
            or not await self._may_take(tx, agent_id, project_id)
        ):
            return None
        task = await self._next(tx, project_id)
        if task is None or not await tx.run(_TAKE, agent_id, self._ctx.now(), task.id):
            return None
        return await self._task_store.changed(tx, task, actor_id=agent_id, what="assigned")

    async def is_offered(self, db: Reader, agent_id: str, project_id: str) -> bool:
        """Return whether there is a task that an agent may take now."""
        project = await self._directory.project(db, project_id)
        if project is None or not project.pool or await self._next(db, project_id) is None:
            return False
        return await self._may_take(db, agent_id, project_id)

    async def _next(self, db: Reader, project_id: str) -> Task | None:
        row = await db.one(_FREE, project_id)
        return task_of(row) if row else None

    async def _may_take(self, db: Reader, agent_id: str, project_id: str) -> bool:
        agent = await self._directory.agent(db, agent_id)
        if agent is None or (agent.kind, agent.role) != ("ai", "worker"):
            return False
        return await db.one(_BUSY, project_id, agent_id) is None
