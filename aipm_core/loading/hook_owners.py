"""Which hooks there are: the core's own, and those that plugins own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

from aipm_core.errors import PluginError
from aipm_core.hookspecs import PREFIX, PROJECT, Hooks, kinds
from aipm_core.plugin import PluginClass

CORE = "aipm_core"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A hook, who asks it, and the kind of record it gives."""

    name: str
    owner: str
    specs: type
    kind: type[Any]


def known_hooks(classes: Mapping[str, PluginClass]) -> dict[str, Hook]:
    """Return every hook of the core and of these plugins, by name; refuse a name taken twice."""
    known = {hook.name: hook for hook in _hooks_of(CORE, Hooks)}
    for owner in sorted(classes):
        specs = classes[owner].hooks
        if specs is None:
            continue
        for hook in _hooks_of(owner, specs):
            other = known.setdefault(hook.name, hook)
            if other is not hook:
                raise PluginError(owner, f"{hook.name} is already a hook of {other.owner}")
    return known


def _hooks_of(owner: str, specs: type) -> Iterable[Hook]:
    for name, member in vars(specs).items():
        if name.startswith("_"):
            continue
        if not name.startswith(PREFIX) or not hasattr(member, f"{PROJECT}_spec"):
            raise PluginError(owner, f"{specs.__name__}.{name} is no @hookspec named {PREFIX}…")
        if len(signature(member).parameters) != 1:
            raise PluginError(owner, f"{specs.__name__}.{name} must be a method without arguments")
    try:
        found = kinds(specs)
    except (KeyError, NameError, TypeError, ValueError) as error:
        problem = f"{specs.__name__}: a hook must say which records it gives, Iterable[…]: {error}"
        raise PluginError(owner, problem) from error
    for name, kind in found.items():
        if not isinstance(kind, type):
            raise PluginError(owner, f"{specs.__name__}.{name} gives {kind!r}, which is no class")
        yield Hook(name=name, owner=owner, specs=specs, kind=kind)
