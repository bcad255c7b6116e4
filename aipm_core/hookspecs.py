"""The hooks of aipm.

One rule holds for all of them: a hook is a plain (not async) method without arguments, it is
asked once at most while the runtime is being built, and it returns records from
:mod:`aipm_core.records`. What happens during a call happens in the functions inside those
records, and those are async. A record that acts during a call carries a deadline.

The core asks the hooks below. A plugin that wants others to add to it owns hooks in the same way: a
class of specifications, named as ``hooks`` of the plugin. It reads what came together with
``ctx.given(TheClass.aipm_name)``. Others implement such a hook as any other, whichever plugin is
built first; where the owner may not be installed at all, with ``@hookimpl(optionalhook=True)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import get_args, get_origin, get_type_hints

from pluggy import HookimplMarker, HookspecMarker

from aipm_core.records import (
    Authenticator,
    Authorizer,
    CallWrapper,
    EventSink,
    Lifespan,
    ResponseMiddleware,
    Transport,
)
from aipm_core.store import Migration
from aipm_core.tools import AnyTool

PROJECT = "aipm"
PREFIX = f"{PROJECT}_"
hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


class Hooks:
    """The kernel's hooks, as they come into play: tables, calls, events, life, ways in."""

    @hookspec
    def aipm_migrations(self) -> Iterable[Migration]:
        """Steps that bring the plugin's own tables up to date, oldest first."""
        return ()

    @hookspec
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Tools to offer. A name may be taken once in the whole runtime."""
        return ()

    @hookspec
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Tools of ``audience="ui"``. Where no person can call any, the hook is not asked."""
        return ()

    @hookspec
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        """Ways to turn a credential into a session. The first session found is used."""
        return ()

    @hookspec
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Checks before a tool runs, by stage. All must pass; an error inside one denies."""
        return ()

    @hookspec
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        """Changes to the reply, by phase and order, then in plugin order."""
        return ()

    @hookspec
    def aipm_call_wrappers(self) -> Iterable[CallWrapper]:
        """What goes around every call, in plugin order, the first one outermost."""
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
    def aipm_transports(self) -> Iterable[Transport]:
        """Ways in from the outside, opened last."""
        return ()


@cache
def kinds(specs: type = Hooks) -> Mapping[str, type]:
    """Return the hooks of a class of specifications, each with the kind of record it gives."""
    names = [name for name in vars(specs) if name.startswith(PREFIX)]
    return MappingProxyType(
        {name: _record(get_type_hints(getattr(specs, name))["return"]) for name in names}
    )


def _record(returned: object) -> type:
    (record,) = get_args(returned)
    kind: type = get_origin(record) or record
    return kind
