"""What people look up about tasks. Membership is checked before, where a project is named."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_sessions.api import DIRECTORY
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, Row, quoted, tool
from aipm_tasks.api import TaskStatus
from aipm_tasks.config import TasksConfig
from aipm_tasks.holding import held_by
from aipm_tasks.overview import Overview
from aipm_tasks.service import SqlTaskService, TaskFilter
from aipm_tasks.task_store import TaskStore, shown, task_of

_MOST_FOUND = 5


class OfProject(Arguments):
    """A project, or all that the caller may look into."""

    project_id: str | None = Field(default=None, max_length=64)


class ListTasks(OfProject):
    """Arguments of ``list_tasks``."""

    status: TaskStatus | None = None
    assignee_id: str | None = Field(default=None, max_length=64)
    archived: bool = False
    limit: int = Field(default=1000, ge=1, le=100_000)
    after: str | None = Field(default=None, max_length=64)


class GetTask(Arguments):
    """Arguments of ``get_task``: an id, or the beginning of one."""

    project_id: str | None = Field(default=None, max_length=64)
    task_id: str = Field(max_length=64)


class PeoplesReading:
    """Tasks of other projects are as unknown as tasks that do not exist."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        task_store: TaskStore,
        service: SqlTaskService,
        overview: Overview,
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._service = service
        self._overview = overview
        self._directory = ctx.services.use(DIRECTORY)

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        for run in (self.list_tasks, self.get_task, self.get_status):
            yield tool(run, access=Access.PERSON, audience="ui", read_only=True)

    async def list_tasks(self, call: Call, args: ListTasks) -> Json:
        """List tasks in the order they were made."""
        wanted = TaskFilter(
            projects=await self._projects(call, args.project_id),
            status=args.status,
            assignee_id=args.assignee_id,
            archived=args.archived,
        )
        found, more = await self._service.listed(wanted, limit=args.limit, after=args.after)
        return {"tasks": [shown(task) for task in found], "has_more": more}

    async def get_task(self, call: Call, args: GetTask) -> Json:
        """Return a task with its history, what it waits for and what holds it."""
        db, row = self._ctx.store, await self._found(call, args)
        waits = await db.all(
            "select depends_on from task_dependencies where task_id = ? order by depends_on",
            row["id"],
        )
        held = await held_by(db, row["project_id"])
        return {
            "task": shown(task_of(row)),
            "history": await self._task_store.history(db, row["id"]),
            "dependencies": [each["depends_on"] for each in waits],
            "held_by": held.get(row["id"]),
            "archived": row["archived_at"] is not None,
        }

    async def _found(self, call: Call, args: GetTask) -> Row:
        db = self._ctx.store
        reach = await self._projects(call, args.project_id)
        rows = await db.all(
            "select * from tasks where id >= ? and id < ? order by id limit 1000",
            *(args.task_id, f"{args.task_id}\x7f"),
        )
        found = [row for row in rows if row["project_id"] in reach]
        exact = [row for row in found if row["id"] == args.task_id] or found
        if not exact:
            raise self._ctx.refuse("task_not_found", 404, task_id=quoted(args.task_id))
        if len(exact) > 1:
            these = ", ".join(row["id"] for row in exact[:_MOST_FOUND])
            raise self._ctx.refuse("task_ambiguous", 400, task_id=args.task_id, these=these)
        return exact[0]

    async def get_status(self, call: Call, args: OfProject) -> Json:
        """Return who is there and does what, and what has to be done."""
        projects = await self._projects(call, args.project_id)
        return {
            "agents": await self._overview.look(projects),
            "projects": await self._overview.counts(projects),
        }

    async def _projects(self, call: Call, project_id: str | None) -> list[str]:
        if project_id is not None:
            return [project_id]
        return await self._directory.reach(self._ctx.store, call.caller)
