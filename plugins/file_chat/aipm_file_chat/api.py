"""What other plugins may know about chat."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from aipm_operations.api import Finding

from aipm_core import Json, Reader, ServiceKey, Session, Tx, hookspec

SYSTEM = "system"
"""The sender of what no member of the project wrote; it has no chat file of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. ``seq`` grows by commit order and is what read state is kept by."""

    seq: int
    id: str
    project_id: str
    sender_id: str
    receiver_id: str
    content: str
    created_at: str
    related_task_id: str | None = None
    conversation_id: str | None = None
    corrects: str | None = None
    """The message it takes the place of; without content it only says that one was withdrawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageObserver:
    """A look at every message; ``stored`` runs inside the transaction that stores it."""

    name: str
    stored: Callable[[Tx, Message], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingFields:
    """More for the reply of ``get_pending_messages``.

    ``fields`` returns it, inside the transaction that marks the messages read.
    """

    name: str
    fields: Callable[[Tx, Session], Awaitable[Mapping[str, Json]]]


class FileChatHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_message_observers(self) -> Iterable[MessageObserver]:
        """What happens in the same transaction when a message is stored. A name is given once."""
        return ()

    @hookspec
    def aipm_pending_fields(self) -> Iterable[PendingFields]:
        """Fields added to the reply of ``get_pending_messages``. A name is given once."""
        return ()


class Chat(Protocol):
    """Messages between the members of a project."""

    async def check(self, project_id: str, sender_id: str, receiver_id: str, content: str) -> None:
        """Raise the ``CallError`` that sending this would get, before anything is written."""
        ...

    async def store(
        self,
        tx: Tx,
        *,
        project_id: str,
        sender_id: str,
        receiver_id: str,
        content: str,
        related_task_id: str | None = None,
        conversation_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> Message:
        """Store a checked message in the caller's transaction; observers and inbox included."""
        ...

    async def write_out(self) -> None:
        """After that transaction: put what is stored into the chat files."""
        ...

    async def newest_delivered(self, db: Reader, session: Session) -> Message | None:
        """Return the newest message that this very session has been given to read."""
        ...

    async def of_conversation(self, db: Reader, conversation_id: str) -> list[Message]:
        """Return the messages of one conversation, oldest first."""
        ...

    async def unread(self, db: Reader, project_id: str, agent_id: str) -> int:
        """Count an agent's unread messages."""
        ...


class ChatFiles(Protocol):
    """The chat files as a whole: what ``aipm doctor`` and metrics ask about."""

    async def waiting(self, db: Reader) -> int:
        """Count the stored messages that are not yet safe in their files."""
        ...

    async def check(self) -> Finding:
        """Compare every file with the store."""
        ...

    async def rebuild(self) -> Finding:
        """Write every file that differs anew from the store; the old one is kept beside it."""
        ...


CHAT = ServiceKey[Chat]("file_chat.chat")
CHAT_FILES = ServiceKey[ChatFiles]("file_chat.files")


def topic_of(project_id: str, agent_id: str) -> str:
    """Name the topic that wakes whoever waits for messages of an agent."""
    return f"chat:{project_id}:{agent_id}"
