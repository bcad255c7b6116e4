"""What a hook of a plugin must look like. Misuse is refused before pluggy sees the plugin."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from aipm_core.context import PluginClass
from aipm_core.hookspecs import PROJECT, kinds

PREFIX = f"{PROJECT}_"
_MARK = f"{PROJECT}_impl"


def hooks_of(plugin: PluginClass) -> list[str]:
    """Return the hooks a plugin implements, in the order of the specification."""
    return [name for name in kinds() if hasattr(plugin, name)]


def misuse_of(plugin: PluginClass) -> str | None:
    """Say in one sentence what is wrong with a plugin's hooks; ``None`` if nothing is."""
    known = kinds()
    members = {n: m for cls in reversed(plugin.__mro__) for n, m in vars(cls).items()}
    for name, function in sorted(members.items()):
        mark: Mapping[str, Any] | None = getattr(function, _MARK, None)
        if mark is None and not name.startswith(PREFIX):
            continue
        if name in known:
            problem = _problem(name, function, mark)
        elif mark is not None and mark["optionalhook"]:
            problem = None  # written for a later aipm, and content to do without
        else:
            problem = _unknown(name, list(known))
        if problem is not None:
            return problem
    return None


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"the hooks are {', '.join(known)}"
    return f"{name} is no hook of aipm; {hint}"


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
