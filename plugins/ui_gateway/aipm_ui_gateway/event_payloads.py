"""What each event tells. The names are those on the wire, so they do not follow PEP 8."""
# ruff: noqa: N815

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from aipm_core import Json

AgentState: TypeAlias = Literal[
    "thinking", "executing_tool", "awaiting_confirmation", "waiting_for_input", "error"
]
Level: TypeAlias = Literal["CRITICAL", "WARN", "INFO"]
Resolution: TypeAlias = Literal["approved", "denied", "expired", "cancelled"]
Outcome: TypeAlias = Literal["ok", "failed", "denied", "expired", "cancelled", "blocked"]


class EventPayload(BaseModel):
    """Base of every payload. The session is not part of it: the gateway adds ``sessionId``."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class MessageMetadata(EventPayload):
    """Where an answer comes from and how long it took."""

    source_documents: list[Json] = Field(default_factory=list)
    latency_ms: int | None = None


class NewMessage(EventPayload):
    """The agent has said something; with ``messageId`` it closes the deltas of that message."""

    content: str
    format: Literal["markdown", "text"] = "markdown"
    metadata: MessageMetadata = MessageMetadata()
    messageId: str | None = None


class MessageDelta(EventPayload):
    """A piece of a message that is still being written."""

    messageId: str
    delta: str


class SecurityWarning(EventPayload):
    """Why a person should look before saying yes."""

    level: Level
    message: str


class ToolCallRequest(EventPayload):
    """A tool wants to run and a person is asked."""

    confirmationId: str
    toolName: str
    args: dict[str, Json]
    security_warning: SecurityWarning
    expiresAt: str
    toolCallId: str | None = None


class AgentStateChange(EventPayload):
    """What the agent does now."""

    state: AgentState


class ConfirmationResolved(EventPayload):
    """A question has its answer, or never will."""

    confirmationId: str
    status: Resolution
    answeredBy: str | None = None
    reason: str | None = None


class ToolCallResult(EventPayload):
    """How a tool call ended; refused, expired and cancelled calls end too."""

    toolName: str
    status: Outcome
    toolCallId: str | None = None
    result: Json = None
    error: Json = None


class Error(EventPayload):
    """Something went wrong in this session."""

    code: str
    message: str


class TaskChange(EventPayload):
    """A task of this session's agent was created or changed."""

    taskId: str
    status: str
    previousStatus: str | None = None
    title: str | None = None


class Notification(EventPayload):
    """A notification was left for this session's agent."""

    notificationId: str
    type: str
    action: str | None = None
    message: str | None = None


class SystemMessage(EventPayload):
    """News for everybody."""

    content: str
