"""What other plugins may know about conversations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from aipm_core import Reader, ServiceKey, Session, Tx

State: TypeAlias = Literal["pending", "active", "ended", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A talk between two agents of one project."""

    id: str
    project_id: str
    initiator_id: str
    participant_id: str
    purpose: str | None
    state: State
    turns: int
    max_turns: int
    task_id: str | None
    created_at: str
    ended_at: str | None
    ended_by: str | None
    end_reason: str | None


class TaskResolver(Protocol):
    """A plugin that knows for which task a chat session starts a conversation."""

    async def task_for(self, tx: Tx, session: Session, participant_id: str) -> str | None:
        """Return the task's id, if there is one."""
        ...


class Conversations(Protocol):
    """Conversations of this store."""

    async def of_task(self, db: Reader, task_id: str) -> list[Conversation]:
        """List the conversations bound to a task, oldest first."""
        ...

    def resolve_task(self, resolver: TaskResolver) -> None:
        """Ask this plugin for the task of a new conversation. Call it in a constructor."""
        ...


CONVERSATIONS = ServiceKey[Conversations]("conversations.conversations")
