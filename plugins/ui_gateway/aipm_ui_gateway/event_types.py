"""Every event type there is, and one typed way to make each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from aipm_core import Event
from aipm_ui_gateway import event_payloads as payloads


@dataclass(frozen=True, slots=True)
class EventType:
    """One kind of event: what it carries and whom it may reach.

    A plugin that gives one of its own (``aipm_event_types``) writes events of it with
    ``ctx.events.record(tx, kind.event(payload, session_id))``; ``/schema/events.json`` tells of it.
    """

    name: str
    payload: type[payloads.EventPayload]
    scope: Literal["session", "system"] = "session"

    def event(self, payload: payloads.EventPayload, session_id: str | None = None) -> Event:
        """Make an event of this kind; whom it may reach is not for the caller to widen."""
        if type(payload) is not self.payload:
            raise TypeError(f"{self.name} carries {self.payload.__name__}")
        if (session_id is None) != (self.scope == "system"):
            raise ValueError(f"{self.name} is for {'a session' if session_id is None else 'all'}")
        system = self.scope == "system"
        return Event(type=self.name, payload=_plain(payload), session_id=session_id, system=system)


EVENT_TYPES: Mapping[str, EventType] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            EventType("onNewMessage", payloads.NewMessage),
            EventType("onMessageDelta", payloads.MessageDelta),
            EventType("onToolCallRequest", payloads.ToolCallRequest),
            EventType("onAgentStateChange", payloads.AgentStateChange),
            EventType("onConfirmationResolved", payloads.ConfirmationResolved),
            EventType("onToolCallResult", payloads.ToolCallResult),
            EventType("onError", payloads.Error),
            EventType("onTaskChange", payloads.TaskChange),
            EventType("onNotification", payloads.Notification),
            EventType("onSystemMessage", payloads.SystemMessage, scope="system"),
        )
    }
)
_BY_PAYLOAD = {kind.payload: kind for kind in EVENT_TYPES.values()}


def session_event(session_id: str, payload: payloads.EventPayload) -> Event:
    """Make the event that ``payload`` belongs to, for one session and nobody else."""
    kind = _BY_PAYLOAD[type(payload)]
    if kind.scope != "session":
        raise ValueError(f"{kind.name} is for everybody; it has no session")
    return Event(type=kind.name, payload=_plain(payload), session_id=session_id)


def system_event(payload: payloads.SystemMessage) -> Event:
    """Make an event that reaches every connected user interface."""
    return Event(type=_BY_PAYLOAD[type(payload)].name, payload=_plain(payload), system=True)


def agent_state(session_id: str, state: payloads.AgentState) -> Event:
    """Tell what the agent does now."""
    return session_event(session_id, payloads.AgentStateChange(state=state))


def new_message(
    session_id: str,
    content: str,
    *,
    format: Literal["markdown", "text"] = "markdown",  # noqa: A002 - the name on the wire
    metadata: payloads.MessageMetadata | None = None,
    message_id: str | None = None,
) -> Event:
    """Tell what the agent said."""
    payload = payloads.NewMessage(
        content=content,
        format=format,
        metadata=metadata or payloads.MessageMetadata(),
        messageId=message_id,
    )
    return session_event(session_id, payload)


def message_delta(session_id: str, message_id: str, delta: str) -> Event:
    """Tell a piece of what the agent is saying."""
    return session_event(session_id, payloads.MessageDelta(messageId=message_id, delta=delta))


def tool_call_request(session_id: str, payload: payloads.ToolCallRequest) -> Event:
    """Ask the people who watch a session whether a tool may run."""
    return session_event(session_id, payload)


def confirmation_resolved(
    session_id: str,
    confirmation_id: str,
    status: payloads.Resolution,
    *,
    answered_by: str | None = None,
    reason: str | None = None,
) -> Event:
    """Tell how a confirmation ended."""
    payload = payloads.ConfirmationResolved(
        confirmationId=confirmation_id, status=status, answeredBy=answered_by, reason=reason
    )
    return session_event(session_id, payload)


def tool_call_result(session_id: str, payload: payloads.ToolCallResult) -> Event:
    """Tell how a tool call ended."""
    return session_event(session_id, payload)


def error(session_id: str, code: str, message: str) -> Event:
    """Tell one session what went wrong in it."""
    return session_event(session_id, payloads.Error(code=code, message=message))


def system_message(content: str) -> Event:
    """Tell everybody something."""
    return system_event(payloads.SystemMessage(content=content))


def _plain(payload: payloads.EventPayload) -> dict[str, object]:
    # Optional fields nobody set stay off the wire; required fields are always there.
    return payload.model_dump(mode="json", exclude_none=True)
