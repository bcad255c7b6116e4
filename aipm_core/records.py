"""What a plugin can add. One frozen record per hook; new fields always come with a default."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar

from aipm_core.errors import CallError
from aipm_core.models import Audience, Event, Json, Reply, Request, Session, StoredEvent
from aipm_core.tools import AnyTool, Call

A = TypeVar("A")
Carry: TypeAlias = Callable[[Request], Awaitable[Reply]]
"""Carries a request to its reply: the whole road of a call."""


class Phase(IntEnum):
    """When a response middleware runs. Later phases have the last word."""

    ENRICH = 10
    GUARD = 20
    REPLACE = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """Turns a credential into a session, or passes by returning ``None``.

    Whoever knows why a session is no longer valid raises ``SessionInvalid`` and says so.
    ``audience`` says whose credentials these are: a person's never opens an agents' tool.
    """

    name: str
    resolve: Callable[[str], Coroutine[Any, Any, Session | None]]
    deadline: float = 5.0
    audience: Audience = "agent"


class Stage(IntEnum):
    """When an authorizer looks at a call. Earlier stages are cheaper and more certain."""

    GATE = 10
    """Before the tool is looked up, for callers with a session: an unread interrupt, a rate limit.
    A tool that does not exist has a name here, and no traits."""
    RIGHTS = 20
    """By tool and session alone; so ``help`` can tell in advance what is not available."""
    STATE = 30
    """By what is stored, and by the arguments, which fit the tool's model by then."""
    CONSENT = 40
    """By asking somebody, who may take minutes. What the other stages saw is old by then, so they
    are asked again; nobody is asked about a call that could not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorizer:
    """Looks at a call and raises to stop it: ``PermissionDenied``, or ``ReplyReplaced`` at a gate.

    It changes nothing.
    """

    name: str
    check: Callable[[Call], Coroutine[Any, Any, None]]
    stage: Stage = Stage.STATE
    deadline: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseMiddleware:
    """Rewrites the reply. ``on_error`` has no default: the author must choose."""

    name: str
    apply: Callable[[Request, Session | None, Reply], Coroutine[Any, Any, Reply]]
    phase: Phase
    on_error: Literal["skip", "fail"]
    deadline: float = 5.0
    order: int = 0
    """Within the phase: a greater one comes later, and so has the last word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWrapper:
    """Goes around the whole road of every call, to measure it: for traces and numbers.

    ``wrap`` is asked once, when the runtime is built. What it returns must carry every request and
    return the reply as it is.
    """

    name: str
    wrap: Callable[[Carry], Carry]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSink:
    """Is shown every event of the store from its first start on: at least once, and in order.

    Its place is kept: what was written while no program ran comes at the next start, and of several
    programs one shows it. One that raises is shown the event again. ``each_process``: every program
    that serves shows it what comes from now on, once, and keeps no place.
    """

    name: str
    send: Callable[[Event], Coroutine[Any, Any, None]]
    deadline: float = 5.0
    each_process: bool = False


class ServeMode(Enum):
    """How a program serves: many callers over a network, or one over its standard streams."""

    SERVER = "server"
    STDIO = "stdio"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifespan:
    """Something to hold open while the runtime is open, or only while it serves in some modes."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[None]]
    deadline: float = 30.0
    ending: float = 5.0
    """Seconds to leave it in, as ``deadline`` to open it; then it is named and left behind."""
    serving: frozenset[ServeMode] | None = None


class Gateway(Protocol):
    """The only face of the runtime that transports, routes and plugins see."""

    async def call(self, request: Request) -> Reply:
        """Carry one request through the pipeline."""

    async def authenticate(self, credential: str, audience: Audience = "agent") -> Session | None:
        """Return which agent's session, or which person's, a credential is, without a call."""

    async def knows(self, credential: str) -> bool:
        """Return whether a credential is anybody's: a session's, or a person's."""

    def plugins(self) -> Mapping[str, str]:
        """Return the plugins that are on, each with the package its class lives in."""

    def find_tool(self, name: str, audience: Audience = "agent") -> AnyTool | None:
        """Return a tool by its name, whoever of that audience may use it."""

    def catalog(self, audience: Audience = "agent") -> tuple[AnyTool, ...]:
        """Return the tools that exist for an audience, by name."""

    def schema(self, tool: str, audience: Audience = "agent") -> Mapping[str, Json]:
        """Return the JSON Schema that callers are shown for a tool."""

    async def refusal(self, tool: AnyTool, session: Session | None) -> CallError | None:
        """Say why this caller may not use a tool now, or ``None`` if it may."""

    def follow(self, session_id: str, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Receive the events of one session, and system news."""

    def news(self, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Receive system news only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """A long-running way in from the outside while the program serves in one mode.

    One that raises is logged and started again; one that returns is done.
    """

    name: str
    serve: Callable[[Gateway], Coroutine[Any, Any, None]]
    mode: ServeMode = ServeMode.SERVER


@dataclass(frozen=True, slots=True)
class Owned(Generic[A]):
    """A record and the plugin that gave it."""

    plugin: str
    record: A
