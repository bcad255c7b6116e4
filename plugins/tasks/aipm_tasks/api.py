"""What other plugins may know about tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from aipm_core import Reader, ServiceKey, Session, Tx

Status: TypeAlias = Literal["backlog", "todo", "in_progress", "blocked", "done", "cancelled"]
Priority: TypeAlias = Literal["low", "medium", "high", "urgent"]
Approval: TypeAlias = Literal["approved", "pending_approval", "rejected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A piece of work."""

    id: str
    project_id: str
    title: str
    description: str
    status: Status
    priority: Priority
    assignee_id: str | None
    requester_id: str | None
    parent_task_id: str | None
    approval_status: Approval
    created_at: str
    updated_at: str


class TaskDesk(Protocol):
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
        self, tx: Tx, task_id: str, status: Status, *, actor_id: str, reason: str | None = None
    ) -> Task:
        """Move a task along the one transition table; raises ``CallError`` when it may not."""
        ...


class Consent(Protocol):
    """A plugin that lets a chat session touch tasks only when somebody asked for it."""

    async def spend(self, tx: Tx, session: Session, tool: str) -> str | None:
        """Use up the permission for one call, in the call's own transaction.

        Returns the id of who asked, or ``None`` for no opinion; raises ``CallError`` to refuse.
        """
        ...


class ConsentDesk(Protocol):
    """Where such plugins announce themselves."""

    def ask(self, consent: Consent) -> None:
        """Ask this plugin from now on. Call it in a plugin's constructor."""
        ...


TASK_DESK = ServiceKey[TaskDesk]("tasks.desk")
CONSENTS = ServiceKey[ConsentDesk]("tasks.consents")
