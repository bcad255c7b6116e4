"""Asks a hook plugin by plugin, so that every answer and every failure has an owner."""

from __future__ import annotations

from typing import TypeVar

import pluggy

from aipm_core.contributions import Owned
from aipm_core.errors import PluginError

R = TypeVar("R")


def ask(manager: pluggy.PluginManager, hook: str, kind: type[R]) -> list[Owned[R]]:
    """Return what the plugins give, in build order; refuse what is not of the right kind."""
    names = [(name, plugin) for name, plugin in manager.list_name_plugin() if plugin is not None]
    answers: list[Owned[R]] = []
    for name, plugin in names:
        others = [other for _, other in names if other is not plugin]
        caller = manager.subset_hook_caller(hook, others)
        try:
            records = [record for answer in caller() for record in answer]
        except Exception as error:
            raise PluginError(name, f"{hook} failed: {error}") from error
        for record in records:
            if not isinstance(record, kind):
                raise PluginError(name, f"{hook} gave {record!r}, not a {kind.__name__}")
            answers.append(Owned(name, record))
    return answers
