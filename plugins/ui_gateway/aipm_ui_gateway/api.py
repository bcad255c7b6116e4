"""What other plugins may know about user interfaces: events, commands and UI sessions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from aipm_sessions.api import Agent

from aipm_core import Json, Reader, ServiceKey, Tx, hookspec
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
from aipm_ui_gateway.ui_commands.payloads import (
    Attachment,
    CancelRun,
    CloseSession,
    CommandPayload,
    OpenSession,
    ProvideConfirmation,
    SessionCommand,
    SubmitUserInput,
)

__all__ = [
    "EVENT_TYPES",
    "UI_PORT",
    "UI_SESSIONS",
    "AgentState",
    "AgentStateChange",
    "Attachment",
    "BusyCheck",
    "CancelRun",
    "CloseSession",
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
    "Resolution",
    "SecurityWarning",
    "SessionCommand",
    "SubmitUserInput",
    "SystemMessage",
    "TaskChange",
    "ToolCallRequest",
    "ToolCallResult",
    "UiConnection",
    "UiHooks",
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


@dataclass(frozen=True, slots=True, kw_only=True)
class UiSession:
    """A person's conversation with one agent of a project. Its id (``uis_…``) names its events."""

    id: str
    person_id: str
    project_id: str
    agent_id: str
    created_at: str
    closed_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UiSessionObserver:
    """A say when UI sessions open and close, inside the same transaction.

    ``closed`` ends what goes on in the session, drops what is queued, and wakes who waits.
    """

    name: str
    opened: Callable[[Tx, UiSession], Awaitable[None]] | None = None
    closed: Callable[[Tx, UiSession], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyCheck:
    """Says whether something goes on in a session, given its id."""

    name: str
    check: Callable[[Reader, str], Awaitable[bool]]


class UiSessions(Protocol):
    """UI sessions of this store."""

    async def open(self, tx: Tx, person: Agent, project_id: str, agent_id: str) -> UiSession:
        """Start a session; ``agent_not_found`` unless both belong to the project."""
        ...

    async def find(self, db: Reader, session_id: str) -> UiSession | None:
        """Find a session that is open; ``None`` for unknown and closed ones alike."""
        ...

    async def of_person(self, db: Reader, person_id: str, session_id: str | None) -> UiSession:
        """Return a person's own open session, for a command that names it.

        ``session_required`` without an id, ``session_not_found`` for any that is not theirs.
        """
        ...

    async def close(self, tx: Tx, session_id: str) -> bool:
        """End a session; ``False`` if it has already ended."""
        ...

    async def owned_by(self, db: Reader, person_id: str) -> list[UiSession]:
        """List a person's open sessions, newest first."""
        ...


class UiHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_event_types(self) -> Iterable[EventType]:
        """Kinds of events of the plugin's own, for user interfaces to know."""
        return ()

    @hookspec
    def aipm_ui_session_observers(self) -> Iterable[UiSessionObserver]:
        """What happens in the same transaction when a person's session opens or closes."""
        return ()

    @hookspec
    def aipm_ui_busy_checks(self) -> Iterable[BusyCheck]:
        """What keeps a person's session from ending as unused."""
        return ()


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
UI_PORT = ServiceKey[UiPort]("ui_gateway.port")
