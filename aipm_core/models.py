"""The values that travel: a Request comes in, a Reply goes out, an Event goes aside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from aipm_core.elicitation import Elicit, Question
from aipm_core.errors import CallError

Json: TypeAlias = Any
Purpose: TypeAlias = Literal["task", "chat"]
Role: TypeAlias = Literal["manager", "worker"]
Kind: TypeAlias = Literal["ai", "human"]
Audience: TypeAlias = Literal["agent", "ui"]
Progress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who is calling, and for what. ``over``: its work is done and only ``logout`` is left."""

    id: str
    agent_id: str
    project_id: str
    purpose: Purpose
    role: Role = "worker"
    kind: Kind = "ai"
    agent_name: str = ""
    over: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a transport hands to the runtime.

    ``credential`` is what the transport itself carried (a bearer header, the environment); a
    ``session_token`` among the arguments means the same. ``session`` is set only by code inside
    the process that has already established who is calling; no transport may fill it from the wire.
    The same holds for ``audience``: tools made for user interfaces do not exist for agents.
    ``call_id`` is the caller's own name for the call, ``started`` is awaited once, when every check
    has passed and the tool is about to run. ``elicit`` asks the person at the caller's end.
    """

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    credential: str | None = None
    session: Session | None = None
    progress: Progress | None = None
    audience: Audience = "agent"
    call_id: str | None = None
    started: Callable[[], Awaitable[None]] | None = None
    elicit: Elicit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The error part of a reply."""

    code: str
    status: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes back to the caller.

    ``fields`` stand beside the result on the wire; ``replaced`` is a text that stands instead of
    everything else. ``question`` is what a caller must answer before the call can go on.
    """

    result: Json = None
    error: Failure | None = None
    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])
    replaced: str | None = None
    question: Question | None = None

    @classmethod
    def failure(cls, error: CallError) -> Reply:
        """Turn a refused call into a reply."""
        return cls(error=Failure(code=error.code, status=error.status, message=str(error)))

    def with_field(self, name: str, value: Json) -> Reply:
        """Return this reply with one more field beside the result."""
        return replace(self, fields={**self.fields, name: value})

    def replaced_by(self, text: str) -> Reply:
        """Return a reply that carries ``text`` and nothing else."""
        return Reply(replaced=text)

    @property
    def outcome(self) -> str:
        """Say in one word how the call went: ``ok``, ``replaced``, ``asked``, an error's code."""
        if self.question is not None:
            return "asked"
        if self.replaced is not None:
            return "replaced"
        return self.error.code if self.error else "ok"

    def envelope(self) -> dict[str, Json]:
        """Return the object that goes on the wire when the reply is not replaced."""
        if self.error is None:
            return {"result": self.result, **self.fields}
        error = {
            "code": self.error.code,
            "status": self.error.status,
            "message": self.error.message,
        }
        return {"error": error, **self.fields}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something a user interface may want to show.

    An event belongs to one session or, as a deliberate act, to the whole system. One that says
    neither cannot be made: a forgotten field must never become a broadcast.
    """

    type: str
    payload: Mapping[str, Json]
    session_id: str | None = None
    system: bool = False

    def __post_init__(self) -> None:
        if (self.session_id is None) != self.system:
            raise ValueError(
                f"event {self.type!r} needs a session_id, or system=True, and never both"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event with its place in its session's sequence."""

    id: str
    seq: int
    type: str
    timestamp: str
    scope: Literal["session", "system"]
    payload: Mapping[str, Json]
