"""Reads and writes tasks. Rules live elsewhere: nothing here asks whether a change may happen."""

from __future__ import annotations

from dataclasses import fields

from aipm_sessions.api import SESSIONS

from aipm_core import Event, Json, PluginContext, Reader, Row, Tx
from aipm_tasks.api import Task, TaskChange, TaskHooks, TaskStatus
from aipm_tasks.config import TasksConfig
from aipm_tasks.transitions import FINISHED_SQL
from aipm_tasks.wordings import is_reworded

_COLUMNS = tuple(field.name for field in fields(Task))


def task_of(row: Row) -> Task:
    """Make a task of its row."""
    return Task(**{name: row[name] for name in _COLUMNS})


def shown(task: Task) -> dict[str, Json]:
    """Return a task as it is shown everywhere."""
    return {name: getattr(task, name) for name in _COLUMNS}


def agent_topic(project_id: str, agent_id: str) -> str:
    """Name what wakes an agent's sessions when its tasks change."""
    return f"tasks:{project_id}:{agent_id}"


def pool_topic(project_id: str) -> str:
    """Name what is woken when a task of nobody may have become one that can be taken."""
    return f"task_pool:{project_id}"


def project_topic(project_id: str) -> str:
    """Name what wakes those who watch all tasks of a project."""
    return f"tasks:{project_id}"


def task_topic(project_id: str, task_id: str) -> str:
    """Name what is woken when something about one task changes."""
    return f"task:{project_id}:{task_id}"


class TaskStore:
    """Tasks, their relations and their history."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx
        self._sessions = ctx.services.use(SESSIONS)

    async def find(self, db: Reader, task_id: str) -> Task | None:
        """Find a task."""
        row = await db.one("select * from tasks where id = ?", task_id)
        return task_of(row) if row else None

    async def in_project(self, db: Reader, task_id: str, project_id: str) -> Task:
        """Find a task of a project; one of another project is as unknown as one that is not."""
        task = await self.find(db, task_id)
        if task is None or task.project_id != project_id:
            raise self._ctx.refuse("task_not_found", 404, task_id=task_id)
        return task

    async def children(self, db: Reader, task_id: str) -> list[Task]:
        """List the direct subtasks, oldest first."""
        rows = await db.all("select * from tasks where parent_task_id = ? order by seq", task_id)
        return [task_of(row) for row in rows]

    async def ancestors(self, db: Reader, task: Task) -> list[Task]:
        """List parent, grandparent … of a task."""
        found: list[Task] = []
        while task.parent_task_id is not None:
            parent = await self.find(db, task.parent_task_id)
            if parent is None:
                break
            found.append(parent)
            task = parent
        return found

    async def waits_for_others(self, db: Reader, task_id: str) -> bool:
        """Return whether a dependency is unfinished."""
        sql = (
            "select 1 from task_dependencies d join tasks t on t.id = d.depends_on "
            f"where d.task_id = ? and t.status not in {FINISHED_SQL} limit 1"
        )
        return await db.one(sql, task_id) is not None

    async def history(self, db: Reader, task_id: str) -> list[dict[str, Json]]:
        """List what happened to a task, oldest first."""
        rows = await db.all(
            "select at, actor_id, what, from_status, to_status, reason from task_history "
            "where task_id = ? order by seq",
            task_id,
        )
        return [{name: row[name] for name in row.keys()} for row in rows]  # noqa: SIM118

    async def set_status(
        self,
        tx: Tx,
        task: Task,
        status: TaskStatus,
        *,
        actor_id: str,
        reason: str | None,
        through: str | None = None,
    ) -> Task:
        """Write a new status, with its history; ``through`` is the task above that was stopped."""
        now = self._ctx.now()
        started = now if status == "in_progress" else None
        block = (actor_id, through) if status == "blocked" else (None, None)
        await tx.run(
            "update tasks set status = ?, updated_at = ?, started_at = coalesce(?, started_at), "
            "blocked_by = ?, blocked_through = ? where id = ?",
            *(status, now, started, *block, task.id),
        )
        return await self.changed(
            tx, task, actor_id=actor_id, what="status", to=status, reason=reason
        )

    async def changed(
        self,
        tx: Tx,
        before: Task,
        *,
        actor_id: str,
        what: str,
        to: TaskStatus | None = None,
        reason: str | None = None,
    ) -> Task:
        """Record a change that was written, and tell whoever waits or watches."""
        previous = before.status if to and what != "created" else None
        await tx.run(
            "insert into task_history (task_id, project_id, at, actor_id, what, from_status, "
            "to_status, reason) values (?, ?, ?, ?, ?, ?, ?, ?)",
            *(before.id, before.project_id, self._ctx.now(), actor_id, what, previous, to, reason),
        )
        after = await self.find(tx, before.id)
        if after is None:
            raise LookupError(before.id)
        if is_reworded(before, after):
            await tx.run("update tasks set wording = wording + 1 where id = ?", before.id)
        await self._wake(tx, after)
        await self._show(tx, after, what, previous, actor_id)
        if observers := self._ctx.given(TaskHooks.aipm_task_observers):
            change = TaskChange(
                task=after, what=what, previous=previous, actor_id=actor_id, reason=reason
            )
            for owned in observers:
                await owned.record.changed(tx, change)
        return after

    async def _wake(self, tx: Tx, task: Task) -> None:
        """Wake the agents this may concern: its own, its parent's, those that depend on it."""
        rows = await tx.all(
            "select id, assignee_id from tasks where id in (?, ?) union "
            "select t.id, t.assignee_id from task_dependencies d join tasks t on t.id = d.task_id "
            "where d.depends_on = ?",
            *(task.id, task.parent_task_id, task.id),
        )
        agents = {row["assignee_id"] for row in rows} - {None}
        if any(row["assignee_id"] is None for row in rows):
            tx.wake(pool_topic(task.project_id))
        tx.wake(*(agent_topic(task.project_id, agent) for agent in agents))
        tx.wake(*(task_topic(task.project_id, row["id"]) for row in rows))
        tx.wake(project_topic(task.project_id))

    async def _show(
        self, tx: Tx, task: Task, what: str, previous: TaskStatus | None, actor_id: str
    ) -> None:
        if task.assignee_id is None:
            return
        payload: dict[str, Json] = {"taskId": task.id, "title": task.title, "change": what}
        payload |= {"status": task.status, "actorId": actor_id}
        payload |= {"approvalStatus": task.approval_status, "assigneeId": task.assignee_id}
        payload |= {"previousStatus": previous} if previous else {}
        for session in await self._sessions.followed(tx, task.project_id, task.assignee_id):
            event = Event(type="onTaskChange", payload=payload, session_id=session.id)
            await self._ctx.events.record(tx, event)
