"""The tools around one's own tasks: look, list, make, move."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY, arguments_digest
from pydantic import Field

from aipm_core import Arguments, Call, Json, NoArguments, PluginContext, Session, Tx
from aipm_tasks.api import Approval, NewTask, Priority, Task, TaskStatus
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.creation import Creation
from aipm_tasks.creation_keys import CreationKeys
from aipm_tasks.rules import Rules
from aipm_tasks.service import SqlTaskService
from aipm_tasks.status_changes import StatusChanges
from aipm_tasks.task_store import TaskStore, shown

TITLE = Field(max_length=200, pattern=r"\S")
ID = Field(max_length=64)
DESCRIPTION = Field(default="", max_length=20_000)
REASON = Field(default=None, max_length=4000)


class ListTasks(Arguments):
    """Arguments of ``list_tasks``."""

    status: TaskStatus | None = None
    assignee_id: str | None = None
    limit: int = Field(default=50, ge=1, le=200)
    after: str | None = None


class CreateTask(Arguments):
    """Arguments of ``create_task``."""

    title: str = TITLE
    description: str = DESCRIPTION
    priority: Priority = "medium"
    parent_task_id: str | None = None
    assignee_id: str | None = None
    dependencies: list[str] = Field(default_factory=list, max_length=50)
    idempotency_key: str | None = Field(default=None, min_length=1, max_length=200)


class UpdateTaskStatus(Arguments):
    """Arguments of ``update_task_status``."""

    task_id: str = ID
    status: TaskStatus
    reason: str | None = REASON


class TaskTools:
    """What a session may do with the tasks of its project."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        service: SqlTaskService,
        task_store: TaskStore,
        rules: Rules,
        status_changes: StatusChanges,
        creation: Creation,
        bindings: Bindings,
    ) -> None:
        self._ctx = ctx
        self._service = service
        self._task_store = task_store
        self._rules = rules
        self._status_changes = status_changes
        self._creation = creation
        self._bindings = bindings
        self._keys = CreationKeys(ctx)
        self._directory = ctx.services.use(DIRECTORY)

    async def get_my_task(self, call: Call, args: NoArguments) -> Json:
        """Return the session's task; to a chat session, the one its agent works on."""
        session, db = call.caller, self._ctx.store
        task = await self._bindings.task_of(db, session.id)
        if task is None and session.purpose == "chat":
            found = await self._service.open_of(db, session.agent_id, session.project_id)
            task = next((one for one in found if one.status == "in_progress"), None)
        return {"task": shown(task) if task else None}

    async def list_tasks(self, call: Call, args: ListTasks) -> Json:
        """List tasks of the session's project."""
        tasks, more = await self._service.page(
            call.caller.project_id,
            args.status,
            args.assignee_id,
            limit=args.limit,
            after=args.after,
        )
        return {"tasks": [shown(task) for task in tasks], "has_more": more}

    async def create_task(self, call: Call, args: CreateTask) -> Json:
        """Make a task; the same key makes it once."""
        task = await self._ctx.store.write(lambda tx: self._create(tx, call.caller, args))
        return {"task": shown(task)}

    async def update_task_status(self, call: Call, args: UpdateTaskStatus) -> Json:
        """Move a task along the table."""
        session = call.caller

        async def unit(tx: Tx) -> Json:
            before = await self._task_store.in_project(tx, args.task_id, session.project_id)
            await self._rules.check_touch(tx, session, before)
            after = await self._status_changes.move(
                tx, before, args.status, actor_id=session.agent_id, reason=args.reason
            )
            if args.status == "in_progress":
                await self._take_up(tx, session, after)
            return {"task": shown(after), "previous_status": before.status}

        return await self._ctx.store.write(unit)

    async def _create(self, tx: Tx, session: Session, args: CreateTask) -> Task:
        key = args.idempotency_key
        digest = arguments_digest(args.model_dump(), without=("idempotency_key",))
        if (known := await self._keys.known(tx, session, key, digest)) is not None:
            return await self._task_store.in_project(tx, known, session.project_id)
        task = await self._make(tx, session, args)
        await self._keys.remember(tx, session, key, digest, task.id)
        return task

    async def _make(self, tx: Tx, session: Session, args: CreateTask) -> Task:
        if args.parent_task_id is not None:
            parent = await self._task_store.in_project(tx, args.parent_task_id, session.project_id)
            await self._rules.check_touch(tx, session, parent)
        assignee = session.agent_id if args.assignee_id is None else args.assignee_id
        new = NewTask(
            project_id=session.project_id,
            title=args.title,
            actor_id=session.agent_id,
            description=args.description,
            priority=args.priority,
            assignee_id=assignee,
            requester_id=session.agent_id,
            parent_task_id=args.parent_task_id,
            dependencies=tuple(args.dependencies),
            approval=await self._approval(tx, session.agent_id, assignee),
        )
        return await self._creation.create(tx, new)

    async def _approval(self, tx: Tx, maker: str, assignee: str) -> Approval:
        """Work for oneself and for those below needs nobody's approval."""
        if maker == assignee or await self._directory.is_ancestor(tx, maker, assignee):
            return "approved"
        return "pending_approval"

    async def _take_up(self, tx: Tx, session: Session, task: Task) -> None:
        """Bind a session without a task to the one it has just started."""
        if await self._bindings.task_of(tx, session.id) is None:
            waiting = await self._bindings.waiting(tx, session.agent_id, session.project_id)
            if task.id in {one.id for one in waiting}:
                await self._bindings.bind(tx, session, task.id)
