"""Asks a hook plugin by plugin, so that every answer and every failure has an owner."""

from __future__ import annotations

from typing import Any, TypeVar

import pluggy

from aipm_core.errors import PluginError
from aipm_core.hookspecs import PREFIX, PROJECT
from aipm_core.loading.installation import Installation
from aipm_core.records import Owned

R = TypeVar("R")


class Manager(pluggy.PluginManager):
    """Looks for hooks where they can be, instead of at every attribute of a plugin."""

    def __init__(self, installation: Installation) -> None:
        super().__init__(PROJECT)
        self.installation = installation

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:  # noqa: ANN401
        """Return the marks of a hook."""
        return super().parse_hookimpl_opts(plugin, name) if name.startswith(PREFIX) else None


def ask(manager: Manager, hook: str, kind: type[R]) -> list[Owned[R]]:
    """Return what the plugins give, in build order; refuse what is not of the right kind."""
    impls = {impl.plugin_name: impl for impl in getattr(manager.hook, hook).get_hookimpls()}
    answers: list[Owned[R]] = []
    for name in (name for name, _ in manager.list_name_plugin() if name in impls):
        try:
            with manager.installation.limited(name, hook):
                records = list(impls[name].function() or ())
        except PluginError:  # an owner of hooks found a record it was given at fault
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(name, f"{hook} failed: {error}") from error
        for record in records:
            if not isinstance(record, kind):
                raise PluginError(name, f"{hook} gave {record!r}, not a {kind.__name__}")
            answers.append(Owned(name, record))
    return answers
