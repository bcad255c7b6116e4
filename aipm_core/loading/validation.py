"""What a hook of a plugin must look like. Misuse is refused before pluggy sees the plugin."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from aipm_core.hookspecs import PREFIX, PROJECT
from aipm_core.plugin import PluginClass

_MARK = f"{PROJECT}_impl"
_LIKENESS = 0.75
"""From here on an unknown name is taken for a misspelt one."""


def hooks_of(plugin: PluginClass) -> list[str]:
    """Return the hooks a plugin implements, by name, whoever owns them."""
    members = {n: m for cls in reversed(plugin.__mro__) for n, m in vars(cls).items()}
    return sorted(name for name, member in members.items() if hasattr(member, _MARK))


def misuse_of(plugin: PluginClass, known: Collection[str]) -> str | None:
    """Return in one sentence what is wrong with a plugin's hooks; ``None`` if nothing is."""
    members = {n: m for cls in reversed(plugin.__mro__) for n, m in vars(cls).items()}
    for name, function in sorted(members.items()):
        mark: Mapping[str, Any] | None = getattr(function, _MARK, None)
        if mark is None and not name.startswith(PREFIX):
            continue
        if name not in known and not (mark and mark["optionalhook"]):
            problem = _unknown(name, known)
        else:
            problem = _problem(name, function, mark)
        if problem is not None:
            return problem
    return None


def _unknown(name: str, known: Collection[str]) -> str | None:
    """Return what is wrong with an unknown hook: nothing, if its owner may just be switched off."""
    bare = {hook.removeprefix(PREFIX): hook for hook in known}
    near = get_close_matches(name.removeprefix(PREFIX), bare, n=1, cutoff=_LIKENESS)
    if near:
        return f"{name} is no hook of aipm; did you mean {bare[near[0]]!r}?"
    if not name.startswith(PREFIX):
        return f"{name} is no hook of aipm: hooks are named {PREFIX}…"
    return None


def _problem(name: str, function: object, mark: Mapping[str, Any] | None) -> str | None:
    if mark is None:
        return f"{name} lacks @hookimpl and would never be asked"
    if mark["wrapper"] or mark["hookwrapper"]:
        return f"{name} may not be a wrapper: it could drop what other plugins give"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return f"{name} must be a plain method; async functions go into the records"
    if not inspect.isfunction(function) or len(inspect.signature(function).parameters) != 1:
        return f"{name} must be a method without arguments"
    return None
