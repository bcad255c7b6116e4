"""What other plugins may know about conversations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from aipm_core import Reader, ServiceKey, Session, Tx, hookspec

State: TypeAlias = Literal["pending", "active", "ended", "expired"]
EndReason: TypeAlias = Literal["end", "max_turns", "timeout", "session_lost"]


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
    end_reason: EndReason | None
    due_at: float
    """When it times out if nothing more happens, in seconds since the epoch."""
    delegation_id: str | None = None

    @property
    def over(self) -> bool:
        """Return whether nothing more can be said in it."""
        return self.state in {"ended", "expired"}

    def partner_of(self, agent_id: str) -> str:
        """Return the other side."""
        return self.participant_id if agent_id == self.initiator_id else self.initiator_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """On whose behalf a conversation is held: a task, and the delegation that asked for it."""

    task_id: str | None
    delegation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResolver:
    """Knows for which task a chat session starts a conversation.

    ``origin_of`` takes the session and the id of the partner, and returns what the new
    conversation is bound to, if anything.
    """

    name: str
    origin_of: Callable[[Tx, Session, str], Awaitable[Origin | None]]


class ConversationHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_conversation_tasks(self) -> Iterable[TaskResolver]:
        """The task a new conversation is held for; the first answer counts. Names are unique."""
        return ()


class Conversations(Protocol):
    """Conversations of this store."""

    async def of_task(self, db: Reader, task_id: str) -> list[Conversation]:
        """List the conversations bound to a task, oldest first."""
        ...

    async def of_delegation(self, db: Reader, delegation_id: str) -> list[Conversation]:
        """List the conversations a delegation led to, oldest first."""
        ...

    async def open_between(
        self, db: Reader, project_id: str, one: str, other: str
    ) -> Conversation | None:
        """Find the conversation two agents are in now, whoever started it."""
        ...


def topic(project_id: str, agent_id: str) -> str:
    """Name what is woken when a conversation of an agent starts, moves on or ends."""
    return f"conversations:{project_id}:{agent_id}"


CONVERSATIONS = ServiceKey[Conversations]("conversations.conversations")
