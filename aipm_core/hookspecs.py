"""The hooks of aipm.

One rule holds for all of them: a hook is a plain (not async) method without arguments, it is
asked exactly once while the runtime is being built, and it returns records from
:mod:`aipm_core.contributions`. What happens during a call happens in the functions inside those
records, and those are async. A record that acts during a call carries a deadline.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import get_args, get_origin, get_type_hints

from pluggy import HookimplMarker, HookspecMarker

from aipm_core.contributions import (
    Authenticator,
    Authorizer,
    EventSink,
    Gate,
    HealthCheck,
    Lifespan,
    ResponseMiddleware,
    Route,
    Transport,
)
from aipm_core.store import Migration
from aipm_core.tools import AnyTool

PROJECT = "aipm"
hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


class Hooks:
    """All hooks, as they come into play: tables, calls, events, life, doors, questions."""

    @hookspec
    def aipm_migrations(self) -> Iterable[Migration]:
        """Steps that bring the plugin's own tables up to date, oldest first."""
        return ()

    @hookspec
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Tools to offer. A name may be taken once in the whole runtime."""
        return ()

    @hookspec
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        """Ways to turn a credential into a session. The first session found is used."""
        return ()

    @hookspec
    def aipm_gates(self) -> Iterable[Gate]:
        """Checks right after authentication, before the tool is even looked up."""
        return ()

    @hookspec
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Checks before a tool runs. All must pass; an error inside one denies."""
        return ()

    @hookspec
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        """Changes to the reply, by phase, then in plugin order."""
        return ()

    @hookspec
    def aipm_event_sinks(self) -> Iterable[EventSink]:
        """Observers of every event of the store."""
        return ()

    @hookspec
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Work around the life of the runtime: entered in order, left in reverse."""
        return ()

    @hookspec
    def aipm_routes(self) -> Iterable[Route]:
        """Parts of the HTTP server of ``aipm up``."""
        return ()

    @hookspec
    def aipm_transports(self) -> Iterable[Transport]:
        """Doors to the outside, opened last."""
        return ()

    @hookspec
    def aipm_health_checks(self) -> Iterable[HealthCheck]:
        """Questions for ``aipm doctor``."""
        return ()


@cache
def kinds() -> Mapping[str, type]:
    """Return every hook with the kind of record it gives."""
    names = [name for name in vars(Hooks) if name.startswith(f"{PROJECT}_")]
    return MappingProxyType(
        {name: _record(get_type_hints(getattr(Hooks, name))["return"]) for name in names}
    )


def _record(returned: object) -> type:
    (record,) = get_args(returned)
    kind: type = get_origin(record) or record
    return kind
