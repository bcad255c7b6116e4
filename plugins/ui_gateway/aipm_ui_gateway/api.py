"""What other plugins may know about user interfaces: events, commands and UI sessions."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from aipm_sessions.api import Agent
from pydantic import BaseModel

from aipm_core import CallError, Json, Reader, ServiceKey, Tx
from aipm_ui_gateway.command_payloads import (
    Attachment,
    CancelRun,
    CloseSession,
    CommandPayload,
    OpenSession,
    ProvideConfirmation,
    SessionCommand,
    SubmitUserInput,
)
from aipm_ui_gateway.event_payloads import (
    AgentState,
    AgentStateChange,
    ConfirmationResolved,
    Error,
    EventPayload,
    Level,
    MessageDelta,
    MessageMetadata,
    NewMessage,
    Notification,
    Outcome,
    Resolution,
    SecurityWarning,
    SystemMessage,
    TaskChange,
    ToolCallRequest,
    ToolCallResult,
)
from aipm_ui_gateway.event_types import (
    EVENT_TYPES,
    EventType,
    agent_state,
    confirmation_resolved,
    error,
    message_delta,
    new_message,
    session_event,
    system_event,
    system_message,
    tool_call_request,
    tool_call_result,
)

__all__ = [
    "COMMANDS",
    "EVENT_TYPES",
    "UI_PORT",
    "UI_SESSIONS",
    "AgentState",
    "AgentStateChange",
    "Attachment",
    "CancelRun",
    "CloseSession",
    "CommandBoard",
    "CommandHandler",
    "CommandPayload",
    "ConfirmationResolved",
    "Error",
    "EventPayload",
    "EventType",
    "Level",
    "MessageDelta",
    "MessageMetadata",
    "NewMessage",
    "Notification",
    "OpenSession",
    "Outcome",
    "ProvideConfirmation",
    "RefusalObserver",
    "Resolution",
    "SecurityWarning",
    "SessionCommand",
    "SubmitUserInput",
    "SystemMessage",
    "TaskChange",
    "ToolCallRequest",
    "ToolCallResult",
    "UiConnection",
    "UiPort",
    "UiSession",
    "UiSessionObserver",
    "UiSessions",
    "agent_state",
    "confirmation_resolved",
    "error",
    "message_delta",
    "new_message",
    "session_event",
    "system_event",
    "system_message",
    "tool_call_request",
    "tool_call_result",
]

P_contra = TypeVar("P_contra", bound=BaseModel, contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class UiSession:
    """A person's conversation with one agent of a project. Its id (``uis_…``) names its events."""

    id: str
    person_id: str
    project_id: str
    agent_id: str
    created_at: str
    closed_at: str | None = None


class UiSessionObserver(Protocol):
    """A plugin that wants a say when UI sessions open and close, inside the same transaction."""

    async def opened(self, tx: Tx, session: UiSession) -> None:
        """React to a new session."""
        ...

    async def closed(self, tx: Tx, session: UiSession) -> None:
        """React to the end of a session: end its run, drop its queue. Also wake who waits."""
        ...


class UiSessions(Protocol):
    """UI sessions of this store."""

    def observe(self, observer: UiSessionObserver) -> None:
        """Tell an observer about sessions from now on. Call it in a plugin's constructor."""
        ...

    async def open(self, tx: Tx, person: Agent, project_id: str, agent_id: str) -> UiSession:
        """Start a session; ``agent_not_found`` unless both belong to the project."""
        ...

    async def find(self, db: Reader, session_id: str) -> UiSession | None:
        """Find a session that is open; ``None`` for unknown and closed ones alike."""
        ...

    async def close(self, tx: Tx, session_id: str) -> bool:
        """End a session; ``False`` if it has already ended."""
        ...

    async def owned_by(self, db: Reader, person_id: str) -> list[UiSession]:
        """List a person's open sessions, newest first."""
        ...


class CommandHandler(Protocol[P_contra]):
    """Carries out a command inside the transaction that also remembers the command's id.

    So the same command twice has one effect, whatever crashes when. It awaits ``tx`` and nothing
    else; what must go on outside is woken with ``tx.wake``. ``session`` is the open session of the
    person that the payload's ``sessionId`` names, ``None`` if the payload model has no such field.
    What is returned becomes part of the ack; ``CallError`` undoes everything and is the answer.
    """

    def __call__(
        self, tx: Tx, person: Agent, session: UiSession | None, payload: P_contra, /
    ) -> Coroutine[Any, Any, Mapping[str, Json]]:
        """Carry out one command."""
        ...


class RefusalObserver(Protocol):
    """Hears that a handler refused a command, after everything was undone: for audit records."""

    def __call__(
        self, person: Agent, payload: BaseModel, refusal: CallError, /
    ) -> Coroutine[Any, Any, None]:
        """React to a refused command."""
        ...


class CommandBoard(Protocol):
    """Who carries out which command."""

    def handle(
        self,
        type: str,  # noqa: A002 - the name on the wire
        payload_model: type[P_contra],
        run: CommandHandler[P_contra],
        *,
        refused: RefusalObserver | None = None,
    ) -> None:
        """Take over a command type. Call it in a plugin's constructor; a type has one handler."""
        ...


class UiConnection(Protocol):
    """One user interface, as every transport sees it: frames in, frames out."""

    async def command(self, frame: Json) -> Mapping[str, Json]:
        """Give a command ``{"id", "type", "payload"}``; return its ack or error."""
        ...

    async def receive(self) -> Mapping[str, Json]:
        """Return the next event (or ``resync_required``, ``session_closed``) of any session."""
        ...


class UiPort(Protocol):
    """The in-process way in, with the behaviour of the WebSocket."""

    def connect(self, person: Agent) -> AbstractAsyncContextManager[UiConnection]:
        """Connect as a person whose identity is established."""
        ...


UI_SESSIONS = ServiceKey[UiSessions]("ui_gateway.sessions")
COMMANDS = ServiceKey[CommandBoard]("ui_gateway.commands")
UI_PORT = ServiceKey[UiPort]("ui_gateway.port")
