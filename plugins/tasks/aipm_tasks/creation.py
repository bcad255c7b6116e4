"""Makes tasks, within the limits."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY

from aipm_core import PluginContext, Reader, Tx, new_id
from aipm_tasks.api import NewTask, Task
from aipm_tasks.approvers import Approvers
from aipm_tasks.config import TasksConfig
from aipm_tasks.rules import Rules
from aipm_tasks.task_store import TaskStore
from aipm_tasks.transitions import RANKS, is_finished


class Creation:
    """The only writer of new tasks."""

    def __init__(
        self, ctx: PluginContext[TasksConfig], task_store: TaskStore, rules: Rules
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._rules = rules
        self._approvers = Approvers(ctx)
        self._directory = ctx.services.use(DIRECTORY)

    async def create(self, tx: Tx, new: NewTask) -> Task:
        """Make a task, or refuse it before anything is written."""
        await self._check_people(tx, new)
        parent = await self._parent(tx, new)
        above = [parent, *await self._task_store.ancestors(tx, parent)] if parent else []
        await self._check_limits(tx, parent, len(above) + 1)
        wanted = dict.fromkeys(new.dependencies)
        for dependency in wanted:
            await self._task_store.in_project(tx, dependency, new.project_id)
        if above:
            await self.check_circle(tx, list(wanted), {task.id for task in above})
        task = await self._insert(tx, new, len(above) + 1)
        for dependency in wanted:
            await tx.run(
                "insert into task_dependencies (task_id, depends_on) values (?, ?)",
                *(task.id, dependency),
            )
        if new.status == "in_progress":
            await self._rules.check_start(tx, task)
        made = await self._task_store.changed(
            tx, task, actor_id=new.actor_id, what="created", to=task.status
        )
        if made.approval_status == "pending_approval":
            await self._approvers.tell(tx, made)
        return made

    async def _check_people(self, db: Reader, new: NewTask) -> None:
        agent = new.assignee_id
        if agent is None:
            return
        if await self._directory.agent(db, agent) is None:
            raise self._ctx.refuse("agent_not_found", 404, agent_id=agent)
        if not await self._directory.is_member(db, agent, new.project_id):
            raise self._ctx.refuse("target_agent_not_in_project", 403, agent_id=agent)

    async def _parent(self, db: Reader, new: NewTask) -> Task | None:
        if new.parent_task_id is None:
            return None
        parent = await self._task_store.in_project(db, new.parent_task_id, new.project_id)
        if is_finished(parent.status):
            raise self._ctx.refuse(
                "parent_finished", 409, parent_id=parent.id, status=parent.status
            )
        return parent

    async def _check_limits(self, db: Reader, parent: Task | None, depth: int) -> None:
        config = self._ctx.config
        if depth > config.max_depth:
            raise self._ctx.refuse("task_too_deep", 409, limit=config.max_depth)
        if parent is None:
            return
        row = await db.one("select count(*) as n from tasks where parent_task_id = ?", parent.id)
        if row is not None and row["n"] >= config.max_children:
            raise self._ctx.refuse(
                "too_many_subtasks", 409, parent_id=parent.id, limit=config.max_children
            )

    async def check_circle(self, db: Reader, wanted: list[str], above: set[str]) -> None:
        """Refuse a dependency that itself waits for one of these: both would wait for ever.

        A task waits for its dependencies and for its subtasks.
        """
        seen: set[str] = set()
        level = wanted
        while level:
            seen.update(level)
            if seen & above:
                raise self._ctx.refuse("dependency_circle", 409)
            rows = [
                row["id"]
                for task_id in level
                for row in await db.all(
                    "select depends_on as id from task_dependencies where task_id = ? "
                    "union select id from tasks where parent_task_id = ?",
                    *(task_id, task_id),
                )
            ]
            level = [task_id for task_id in dict.fromkeys(rows) if task_id not in seen]

    async def _insert(self, tx: Tx, new: NewTask, depth: int) -> Task:
        now, task_id = self._ctx.now(), new_id("tsk")
        await tx.run(
            "insert into tasks (id, project_id, title, description, status, priority, rank, "
            "assignee_id, requester_id, parent_task_id, depth, approval_status, started_at, "
            "blocked_by, created_at, updated_at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(task_id, new.project_id, new.title, new.description, new.status),
            *(new.priority, RANKS[new.priority], new.assignee_id, new.requester_id),
            *(new.parent_task_id, depth, new.approval),
            now if new.status == "in_progress" else None,
            *(new.actor_id if new.status == "blocked" else None, now, now),
        )
        return await self._task_store.in_project(tx, task_id, new.project_id)
