"""What other plugins may know about tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from aipm_core import Json, Reader, ServiceKey, Session, Tx, hookspec

TaskStatus: TypeAlias = Literal["backlog", "todo", "in_progress", "blocked", "done", "cancelled"]
Priority: TypeAlias = Literal["low", "medium", "high", "urgent"]
Approval: TypeAlias = Literal["approved", "pending_approval", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A piece of work."""

    id: str
    project_id: str
    title: str
    description: str
    status: TaskStatus
    priority: Priority
    assignee_id: str | None
    requester_id: str | None
    parent_task_id: str | None
    approval_status: Approval
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTask:
    """What a task is made of."""

    project_id: str
    title: str
    actor_id: str
    description: str = ""
    priority: Priority = "medium"
    status: TaskStatus = "backlog"
    assignee_id: str | None = None
    requester_id: str | None = None
    parent_task_id: str | None = None
    dependencies: tuple[str, ...] = ()
    approval: Approval = "approved"


class TaskService(Protocol):
    """Tasks, for every path that touches them. All rules hold for all callers."""

    async def find(self, db: Reader, task_id: str) -> Task | None:
        """Find a task."""
        ...

    async def of_session(self, db: Reader, session_id: str) -> Task | None:
        """Return the task a session is bound to."""
        ...

    async def open_of(self, db: Reader, agent_id: str, project_id: str) -> list[Task]:
        """List an agent's unfinished tasks in a project, most urgent first."""
        ...

    async def change_status(
        self, tx: Tx, task_id: str, status: TaskStatus, *, actor_id: str, reason: str | None = None
    ) -> Task:
        """Move a task along the one transition table; raises ``CallError`` when it may not."""
        ...

    async def check_authority(self, db: Reader, agent_id: str, task: Task) -> None:
        """Raise ``CallError`` when an agent or a person has no authority over a task."""
        ...

    async def add(self, new: NewTask) -> Task:
        """Make a task for a person."""
        ...

    async def move(self, task_id: str, status: TaskStatus, reason: str | None) -> Task:
        """Move a task for whoever has the command line."""
        ...

    async def get(self, task_id: str) -> tuple[Task, list[dict[str, Json]]]:
        """Return a task and its history."""
        ...

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
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPermission:
    """Lets a chat session touch tasks only when somebody asked for it.

    ``spend`` uses up the permission for one call of the named tool, in the call's own
    transaction. It returns the id of who asked, or ``None`` for no opinion, and raises
    ``CallError`` to refuse.
    """

    name: str
    spend: Callable[[Tx, Session, str], Awaitable[str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationSource:
    """Knows conversations by their ids.

    ``takes_part`` says whether there is such a conversation, and the session's agent takes part
    in it.
    """

    name: str
    takes_part: Callable[[Reader, Session, str], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """What happened to a task: ``what`` (``created``, ``status``, ``assigned``, …), and by whom."""

    task: Task
    what: str
    previous: TaskStatus | None
    actor_id: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskObserver:
    """A say when a task was made or changed, inside the transaction that does it.

    What it writes happens with the change or not at all, so an outbox of it is exact; one that
    raises keeps the change from happening.
    """

    name: str
    changed: Callable[[Tx, TaskChange], Awaitable[None]]


class TaskHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_task_observers(self) -> Iterable[TaskObserver]:
        """What happens in the same transaction when a task was made or changed."""
        return ()

    @hookspec
    def aipm_task_permissions(self) -> Iterable[TaskPermission]:
        """What lets a chat session touch tasks, and says who asked for it. A name is given once."""
        return ()

    @hookspec
    def aipm_conversation_sources(self) -> Iterable[ConversationSource]:
        """Who takes part in the conversations that notes may mention. A name is given once."""
        return ()


TASKS = ServiceKey[TaskService]("tasks.tasks")
