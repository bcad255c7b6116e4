"""What is installed and what of it runs: for whoever shows it to people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import getdoc

from aipm_operations.api import InstalledPlugin, PluginState, Why

from aipm_cli.discovery import Choice
from aipm_cli.settings import Settings
from aipm_core import LOCALES, PluginClass, PluginError, Texts
from aipm_core.host import Runtime


@dataclass(frozen=True, slots=True)
class Inventory:
    """The choices that were made at the start, and what became of them."""

    settings: Settings
    choices: tuple[Choice, ...]
    failures: Mapping[str, str]
    """What went wrong with a plugin that was left out, by name."""
    runtime: Runtime

    def plugins(self) -> list[InstalledPlugin]:
        """List every installed plugin by name."""
        known: dict[str, PluginClass | None] = {}
        for choice in sorted(self.choices, key=lambda choice: not choice.enabled):
            known.setdefault(choice.found.name, _class_of(choice))
        return [self._one(choice, known) for choice in self.choices]

    def _one(self, choice: Choice, known: Mapping[str, PluginClass | None]) -> InstalledPlugin:
        found, state = choice.found, self._state(choice)
        plugin = known[found.name] if choice.enabled or found.first_party else None
        return InstalledPlugin(
            name=found.name,
            distribution=found.distribution,
            version=found.version,
            first_party=found.first_party,
            state=state,
            why=self._why(choice),
            problem=self._problem(choice) if state == "failed" else None,
            summary=_summary(plugin),
            tools=self._tools(found.name, "agent", "in_process") if state == "on" else (),
            people_tools=self._tools(found.name, "ui") if state == "on" else (),
            requires=_providers(plugin.requires if plugin else (), known),
            uses=_providers(plugin.uses if plugin else (), known),
            required_by=self._users(plugin, known, "requires"),
            used_by=self._users(plugin, known, "uses"),
        )

    def _state(self, choice: Choice) -> PluginState:
        if choice.enabled and choice.found.name in self.runtime.plugins():
            return "on"
        return "failed" if choice.enabled or choice.problem else "off"

    def _problem(self, choice: Choice) -> str:
        return choice.problem or self.failures.get(choice.found.name, "")

    def _why(self, choice: Choice) -> Why:
        found = choice.found
        rivals = [one for one in self.choices if one.found.name == found.name]
        if len(rivals) > 1 and not choice.enabled:
            return "other"
        if self.settings.of(found.name).enabled is not None:
            return "settings"
        if found.first_party:
            return "own"
        return "named" if found.name in self.settings.plugins else "unnamed"

    def _tools(self, plugin: str, *audiences: str) -> tuple[str, ...]:
        found = (one for one in self.runtime.registered() if one.plugin == plugin)
        return tuple(one.tool.name for one in found if one.tool.audience in audiences)

    def _users(
        self, plugin: PluginClass | None, known: Mapping[str, PluginClass | None], how: str
    ) -> tuple[str, ...]:
        """Name the plugins that are on and require, or use, something this one provides."""
        offered = set(plugin.provides) if plugin else set()
        on = self.runtime.plugins()
        users = ((name, getattr(other, how, ())) for name, other in known.items() if name in on)
        return tuple(name for name, keys in users if offered & set(keys))


def _class_of(choice: Choice) -> PluginClass | None:
    """Return a plugin's class; of a foreign one that is off nothing is imported."""
    if not (choice.enabled or choice.found.first_party):
        return None
    try:
        return choice.found.load()
    except PluginError:
        return None


def _providers(keys: Iterable[object], known: Mapping[str, PluginClass | None]) -> tuple[str, ...]:
    wanted = set(keys)
    return tuple(n for n, plugin in known.items() if plugin and wanted & set(plugin.provides))


def _summary(plugin: PluginClass | None) -> dict[str, str]:
    """Return what a plugin is for: as its catalogues say, else its class."""
    if plugin is None:
        return {}
    package = plugin.__module__.partition(".")[0]
    said = (getdoc(plugin) or "").partition("\n")[0]
    return {one: Texts.load(package, one).find("plugin.summary") or said for one in LOCALES}
