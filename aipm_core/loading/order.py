"""In which order plugins are built: providers first, the alphabet decides the rest."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from aipm_core.errors import PluginError
from aipm_core.plugin import PluginClass, ServiceKey


def ordered(classes: Mapping[str, PluginClass]) -> list[str]:
    """Put providers before those that require or use them."""
    providers = _providers(classes)
    graph: dict[str, list[str]] = {}
    for name in sorted(classes):
        plugin = classes[name]
        if missing := [key.name for key in plugin.requires if key not in providers]:
            raise PluginError(
                name,
                f"requires {', '.join(missing)}, which no enabled plugin provides; "
                "switch the provider on or this plugin off",
            )
        wanted = [*plugin.requires, *(key for key in plugin.uses if key in providers)]
        graph[name] = sorted(providers[key] for key in wanted)
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = error.args[1]
        raise PluginError(circle[0], f"requirements go round: {' -> '.join(circle)}") from error


def _providers(classes: Mapping[str, PluginClass]) -> dict[ServiceKey[Any], str]:
    providers: dict[ServiceKey[Any], str] = {}
    for name in sorted(classes):
        for key in classes[name].provides:
            if key in providers:
                raise PluginError(
                    name, f"provides {key.name}, which {providers[key]} already provides"
                )
            providers[key] = name
    return providers
