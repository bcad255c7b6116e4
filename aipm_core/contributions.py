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
Asgi: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]


class Phase(IntEnum):
    """When a response middleware runs. Later phases have the last word."""

    ENRICH = 10
    GUARD = 20
    REPLACE = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Authenticator:
    """Turns a credential into a session, or passes by returning ``None``."""

    name: str
    resolve: Callable[[str], Coroutine[Any, Any, Session | None]]
    deadline: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Looks at every call of a session before anything else is looked at.

    ``check`` raises ``ReplyReplaced`` or ``CallError`` to stop the call there.
    """

    name: str
    check: Callable[[Request, Session], Coroutine[Any, Any, None]]
    deadline: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorizer:
    """Looks at a call and raises ``PermissionDenied`` to stop it. It changes nothing.

    ``static`` says that the answer depends on tool and session alone: it is asked before the
    arguments are checked, and ``help`` can tell in advance what is not available.
    """

    name: str
    check: Callable[[Call], Coroutine[Any, Any, None]]
    static: bool = False
    deadline: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseMiddleware:
    """Rewrites the reply. ``on_error`` has no default: the author must choose."""

    name: str
    apply: Callable[[Request, Session | None, Reply], Coroutine[Any, Any, Reply]]
    phase: Phase
    on_error: Literal["skip", "fail"]
    deadline: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSink:
    """Sees every event of the store, whoever wrote it."""

    name: str
    send: Callable[[Event], Coroutine[Any, Any, None]]
    deadline: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lifespan:
    """Something to hold open while the runtime lives."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[None]]
    deadline: float = 30.0


class Gateway(Protocol):
    """The only face of the runtime that transports, routes and plugins see."""

    async def call(self, request: Request) -> Reply:
        """Carry one request through the pipeline."""
        ...

    async def authenticate(self, credential: str) -> Session | None:
        """Say whose session a credential is, without calling anything."""
        ...

    def catalog(self, audience: Audience = "agent") -> tuple[AnyTool, ...]:
        """Return the tools offered to agents, or all that user interfaces may reach, by name."""
        ...

    def schema(self, tool: str) -> Mapping[str, Json]:
        """Return the JSON Schema agents are shown for a tool."""
        ...

    async def refusal(self, tool: AnyTool, session: Session | None) -> CallError | None:
        """Say why this caller may not use a tool now, or ``None`` if it may."""
        ...

    def follow(self, session_id: str, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Receive the events of one session, and system news."""
        ...

    def news(self, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Receive system news only."""
        ...


class Runs(Enum):
    """Which command opens a transport."""

    UP = "up"
    MCP = "mcp"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """A long-running door to the outside, opened by one command."""

    name: str
    serve: Callable[[Gateway], Coroutine[Any, Any, None]]
    runs: Runs = Runs.UP


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A part of the HTTP server: an ASGI application below a path.

    Host, Origin and body size have been checked before it is asked. ``path`` may hold
    ``{places}``, found in ``scope["path_params"]``.
    """

    path: str
    build: Callable[[Gateway], Asgi]
    methods: tuple[str, ...] = ("GET",)
    websocket: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a health check found, and what to do about it."""

    status: Literal["ok", "warn", "fail"]
    message: str
    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """A question ``aipm doctor`` asks; ``aipm doctor --<flag>`` runs ``repair`` as well."""

    name: str
    check: Callable[[], Coroutine[Any, Any, Finding]]
    deadline: float = 30.0
    repair: Callable[[], Coroutine[Any, Any, Finding]] | None = None
    flag: str = ""


@dataclass(frozen=True, slots=True)
class Owned(Generic[A]):
    """A record and the plugin that gave it."""

    plugin: str
    record: A
