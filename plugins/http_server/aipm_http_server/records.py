"""What plugins give to the HTTP server: routes, and addresses to tell people about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from aipm_core import Gateway

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send
else:  # what serves one agent over stdio does without Starlette
    ASGIApp = Receive = Scope = Send = Any

__all__ = ["Address", "Asgi", "Receive", "Route", "Scope", "Send"]
Asgi: TypeAlias = ASGIApp


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A part of the HTTP server: an ASGI application below a path.

    Host, Origin and body size have been checked before it is asked. ``path`` may hold
    ``{places}``, found in ``scope["path_params"]``. One that raises, or does not begin to answer in
    time, is answered for with an incident.
    """

    path: str
    build: Callable[[Gateway], Asgi]
    methods: tuple[str, ...] = ("GET",)
    websocket: bool = False
    deadline: float | None = 60.0
    """Seconds until the answer begins; ``None`` where something else holds it to a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A place of the server that is told when it is ready: to machines by name, to people by text.

    ``hint`` is what a person does with it.
    """

    name: str
    path: str
    title: str
    hint: str = ""
    websocket: bool = False

    def at(self, url: str) -> str:
        """Return the whole address, below the server's own."""
        return (url.replace("http", "ws", 1) if self.websocket else url) + self.path
