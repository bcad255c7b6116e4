"""The values that travel: a Request comes in, a Reply goes out, an Event goes aside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol, TypeAlias

from aipm_core.errors import CallError

Json: TypeAlias = Any
Purpose: TypeAlias = Literal["task", "chat", "ui"]
"""What a session is for: an agent's work, an agent's talk, or a person's user interface."""
Role: TypeAlias = Literal["manager", "worker"]
Kind: TypeAlias = Literal["ai", "human"]
Audience: TypeAlias = Literal["agent", "ui", "in_process", "native"]
"""Who calls: an agent from outside, a person, the agent inside this server, or an agent's program
that asks whether it may do something itself."""
Progress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who is calling, and for what. ``over``: its work is done and only ``logout`` is left.

    A person (``purpose="ui"``) belongs to no one project: what a call is about is an argument.
    """

    id: str
    agent_id: str
    project_id: str = ""
    purpose: Purpose
    role: Role = "worker"
    kind: Kind = "ai"
    agent_name: str = ""
    over: bool = False


class Once(Protocol):
    """The memory of one call under a key of its caller: one effect, one answer.

    The transport that read the key hands it over with the request. ``recall`` is asked before
    anything that the first call may have changed; ``write`` remembers what the unit returns in the
    unit's own transaction, or that it was done, where the answer must not be ``kept``.
    """

    async def recall(self, caller: Session) -> Reply | None:
        """Return what the caller was answered before; ``CallError`` 409 if it was another call."""

    async def write(
        self, caller: Session, unit: Callable[[Any], Coroutine[Any, Any, Json]], *, kept: bool
    ) -> Json:
        """Run the unit, unless it was run before; return what it returned then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a transport hands to the runtime.

    ``credential`` is what the transport itself carried (a bearer header, the environment); a
    ``session_token`` among the arguments means the same. ``session`` is set only by code inside
    the process that has already established who is calling; no transport may fill it from the wire.
    The same holds for ``audience``: a tool that is not offered to it does not exist.
    ``call_id`` is the caller's own name for the call, ``started`` is awaited once, when every check
    has passed and the tool is about to run. ``elicit`` asks the person at the caller's end.
    ``once`` makes a repetition of the call have no second effect; see :class:`Once`.
    """

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict[str, Json])
    credential: str | None = None
    session: Session | None = None
    progress: Progress | None = None
    audience: Audience = "agent"
    call_id: str | None = None
    started: Callable[[], Awaitable[None]] | None = None
    elicit: Any = None
    once: Once | None = None


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
    everything else. ``question`` is what a caller must answer before the call can go on. ``ran``
    says whether the tool was run: then an error is its own, and no check refused the call.
    """

    result: Json = None
    error: Failure | None = None
    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])
    replaced: str | None = None
    question: Any = None
    ran: bool = False

    @classmethod
    def failure(cls, error: CallError, *, ran: bool = False) -> Reply:
        """Turn a refused call into a reply."""
        failed = Failure(code=error.code, status=error.status, message=str(error))
        return cls(error=failed, ran=ran)

    def with_field(self, name: str, value: Json) -> Reply:
        """Return this reply with one more field beside the result."""
        return replace(self, fields={**self.fields, name: value})

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
        return {"error": asdict(self.error), **self.fields}


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something a user interface may want to show.

    An event belongs to one session or, as a deliberate act, to the whole system. One that says
    neither cannot be made: a forgotten field must never become a broadcast. One that was stored has
    an ``id`` and a ``timestamp``.
    """

    type: str
    payload: Mapping[str, Json]
    session_id: str | None = None
    system: bool = False
    id: str = ""
    timestamp: str = ""

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
