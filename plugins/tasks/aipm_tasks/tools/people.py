"""What people do with tasks. Membership is checked before; here every task is the project's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from aipm_sessions.api import is_operator
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, Tx, tool
from aipm_tasks.api import NewTask, Priority, Task, TaskStatus
from aipm_tasks.config import TasksConfig
from aipm_tasks.creation import Creation
from aipm_tasks.editing import Editing, reworded
from aipm_tasks.finishing import Finishing
from aipm_tasks.requests import Requests
from aipm_tasks.status_changes import StatusChanges
from aipm_tasks.task_store import TaskStore, shown
from aipm_tasks.tools.tasks import DESCRIPTION, ID, REASON, TITLE


class CreateTask(Arguments):
    """Arguments of ``create_task``."""

    project_id: str = ID
    title: str = TITLE
    description: str = DESCRIPTION
    priority: Priority = "medium"
    status: TaskStatus = "backlog"
    assignee_id: str | None = None
    parent_task_id: str | None = None
    dependencies: list[str] = Field(default_factory=list, max_length=50)


class OneTask(Arguments):
    """A task of a project."""

    project_id: str = ID
    task_id: str = ID


class EditTask(OneTask):
    """Arguments of ``edit_task``."""

    title: str | None = Field(default=None, max_length=200, pattern=r"\S")
    description: str | None = Field(default=None, max_length=20_000)
    priority: Priority | None = None


class MoveTask(OneTask):
    """Arguments of ``move_task``."""

    status: TaskStatus
    reason: str | None = REASON


class AssignTask(OneTask):
    """Arguments of ``assign_task``; without an assignee the task is nobody's."""

    assignee_id: str | None = None


class SetDependencies(OneTask):
    """Arguments of ``set_dependencies``: all tasks to finish first, also those it had before."""

    dependencies: list[str] = Field(max_length=50)


class ReopenTask(OneTask):
    """Arguments of ``reopen_task``."""

    reason: str | None = REASON


class ArchiveTask(OneTask):
    """Arguments of ``archive_task``."""

    archived: bool = True


class Verdict(OneTask):
    """Arguments of ``approve_task_request`` and ``reject_task_request``."""

    reason: str | None = REASON


class PeoplesTools:
    """Each does one thing to one task, in the name of the person who calls."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        task_store: TaskStore,
        creation: Creation,
        editing: Editing,
        status_changes: StatusChanges,
        requests: Requests,
        finishing: Finishing,
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._creation = creation
        self._editing = editing
        self._status_changes = status_changes
        self._requests = requests
        self._finishing = finishing

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        for run in (
            self.create_task,
            self.edit_task,
            self.move_task,
            self.assign_task,
            self.set_dependencies,
            self.reopen_task,
            self.archive_task,
            self.approve_task_request,
            self.reject_task_request,
        ):
            yield tool(run, access=Access.PERSON, audience="ui")
        yield tool(self.delete_task, access=Access.MANAGER, audience="ui", destructive=True)

    async def create_task(self, call: Call, args: CreateTask) -> Json:
        """Make a task."""
        person = call.caller.agent_id

        async def unit(tx: Tx) -> Json:
            if not is_operator(call.caller):  # who is told which agents there are elsewhere
                await self._editing.check_assignee(tx, args.assignee_id, args.project_id)
            new = NewTask(
                project_id=args.project_id,
                title=args.title,
                actor_id=person,
                description=args.description,
                priority=args.priority,
                status=args.status,
                assignee_id=args.assignee_id,
                requester_id=None if is_operator(call.caller) else person,
                parent_task_id=args.parent_task_id,
                dependencies=tuple(args.dependencies),
            )
            return {"task": shown(await self._creation.create(tx, new))}

        return await call.write(self._ctx.store, unit)

    async def edit_task(self, call: Call, args: EditTask) -> Json:
        """Change what a task says."""

        async def change(tx: Tx, task: Task) -> Task:
            wanted = reworded(
                task, title=args.title, description=args.description, priority=args.priority
            )
            return await self._editing.edit(tx, task, wanted, actor_id=call.caller.agent_id)

        return await self._changed(call, args, change)

    async def move_task(self, call: Call, args: MoveTask) -> Json:
        """Move a task along the table."""

        async def change(tx: Tx, task: Task) -> Task:
            by, reason = call.caller.agent_id, args.reason
            return await self._status_changes.move(
                tx, task, args.status, actor_id=by, reason=reason
            )

        return await self._changed(call, args, change)

    async def assign_task(self, call: Call, args: AssignTask) -> Json:
        """Give a task to somebody."""

        async def change(tx: Tx, task: Task) -> Task:
            by = call.caller.agent_id
            return await self._editing.assign(tx, task, args.assignee_id, actor_id=by)

        return await self._changed(call, args, change)

    async def set_dependencies(self, call: Call, args: SetDependencies) -> Json:
        """Say which tasks are to be finished first."""

        async def change(tx: Tx, task: Task) -> Task:
            by, wanted = call.caller.agent_id, dict.fromkeys(args.dependencies)
            return await self._editing.depend(tx, task, tuple(wanted), actor_id=by)

        return await self._changed(call, args, change)

    async def reopen_task(self, call: Call, args: ReopenTask) -> Json:
        """Put a finished task back to todo."""

        async def change(tx: Tx, task: Task) -> Task:
            by, reason = call.caller.agent_id, args.reason
            return await self._finishing.reopen(tx, task, actor_id=by, reason=reason)

        return await self._changed(call, args, change)

    async def archive_task(self, call: Call, args: ArchiveTask) -> Json:
        """Put a finished task away, or bring it back."""

        async def change(tx: Tx, task: Task) -> Task:
            by = call.caller.agent_id
            return await self._finishing.archive(tx, task, archived=args.archived, actor_id=by)

        return await self._changed(call, args, change)

    async def delete_task(self, call: Call, args: OneTask) -> Json:
        """Delete a task and its history."""

        async def unit(tx: Tx) -> Json:
            task = await self._task_store.in_project(tx, args.task_id, args.project_id)
            await self._finishing.delete(tx, task)
            return {"task_id": task.id}

        return await call.write(self._ctx.store, unit)

    async def approve_task_request(self, call: Call, args: Verdict) -> Json:
        """Approve a request."""
        return await self._decide(call, args, approved=True)

    async def reject_task_request(self, call: Call, args: Verdict) -> Json:
        """Reject a request."""
        return await self._decide(call, args, approved=False)

    async def _changed(
        self, call: Call, args: OneTask, change: Callable[[Tx, Task], Awaitable[Task]]
    ) -> Json:
        async def unit(tx: Tx) -> Json:
            before = await self._task_store.in_project(tx, args.task_id, args.project_id)
            after = await change(tx, before)
            return {"task": shown(after), "previous_status": before.status}

        return await call.write(self._ctx.store, unit)

    async def _decide(self, call: Call, args: Verdict, *, approved: bool) -> Json:
        async def unit(tx: Tx) -> Json:
            await self._requests.in_project(tx, args.task_id, args.project_id)
            by, reason = call.caller.agent_id, args.reason
            task = await self._requests.decide(
                tx, args.task_id, approved=approved, by=by, reason=reason
            )
            return {"task": shown(task)}

        return await call.write(self._ctx.store, unit)
