"""Which plugins are installed, which are on, and why. Reads metadata; imports only what is on."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from aipm_core.config import Settings, unknown_key
from aipm_core.context import Plugin, PluginClass
from aipm_core.errors import ConfigError, PluginError

logger = logging.getLogger(__name__)
GROUP = "aipm"
DISTRIBUTION = "aipm-runtime"


@dataclass(frozen=True, slots=True)
class Found:
    """An installed plugin that has not been imported yet."""

    name: str
    distribution: str
    version: str
    entry_point: EntryPoint

    @property
    def first_party(self) -> bool:
        """Whether aipm itself ships the plugin."""
        return self.distribution == DISTRIBUTION

    def load(self) -> PluginClass:
        """Import the plugin's class."""
        try:
            loaded = self.entry_point.load()
        except (Exception, SystemExit) as error:
            raise PluginError(self.name, f"cannot be imported: {error}") from error
        if not (isinstance(loaded, type) and issubclass(loaded, Plugin)):
            raise PluginError(self.name, f"{self.entry_point.value} is not a Plugin class")
        return loaded


@dataclass(frozen=True, slots=True)
class Choice:
    """An installed plugin, whether it is on, and the reason."""

    found: Found
    enabled: bool
    reason: str


def installed() -> list[Found]:
    """List installed plugins by name."""
    found: dict[str, Found] = {}
    for point in entry_points(group=GROUP):
        dist = point.dist
        item = Found(point.name, dist.name if dist else "?", dist.version if dist else "?", point)
        other = found.setdefault(item.name, item)
        if other.distribution != item.distribution:
            raise PluginError(
                item.name, f"offered by both {other.distribution} and {item.distribution}"
            )
    return sorted(found.values(), key=lambda item: item.name)


def choose(found: Iterable[Found], settings: Settings) -> list[Choice]:
    """Keep first-party plugins unless switched off, others only if switched on."""
    items = list(found)
    names = [item.name for item in items]
    for name in settings.plugins:
        if name not in names:
            where = f"{settings.file or 'settings'}: [plugins.{name}]: no such plugin is installed"
            raise ConfigError(unknown_key(where, name, names))
    return [_choice(item, settings) for item in items]


def _choice(item: Found, settings: Settings) -> Choice:
    wanted = settings.of(item.name).enabled
    if wanted is not None:
        return Choice(item, wanted, f"enabled = {str(wanted).lower()} in the settings")
    if item.first_party:
        return Choice(item, True, "first-party, on by default")
    if item.name in settings.plugins:
        return Choice(item, True, "named in the settings")
    return Choice(item, False, "third-party, off until named in the settings")


def load(choices: Iterable[Choice], settings: Settings) -> dict[str, PluginClass]:
    """Import the plugins that are on. A broken one stops the start unless it is optional."""
    classes: dict[str, PluginClass] = {}
    for choice in choices:
        name = choice.found.name
        if not choice.enabled:
            continue
        try:
            classes[name] = choice.found.load()
        except PluginError as error:
            if not settings.of(name).optional:
                raise
            text, about = "optional plugin %s skipped: %s", {"plugin": name}
            logger.warning(text, name, error.reason, extra=about)
    return classes


def owner_of(tool: str, choices: Iterable[Choice]) -> str | None:
    """Name the switched-off first-party plugin that would offer a tool."""
    for choice in choices:
        if not choice.enabled and choice.found.first_party and tool in choice.found.load().offers:
            return choice.found.name
    return None
