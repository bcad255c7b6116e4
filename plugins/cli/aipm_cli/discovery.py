"""Which plugins are installed, which are on, and why. Reads metadata; imports only what is on."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, version

from aipm_cli.entry_points import DISTRIBUTION, Point, own_points, points_of
from aipm_cli.lives import alive, serve_all
from aipm_cli.plugin_directory import PluginFile, plugin_files
from aipm_cli.requirements import unmet
from aipm_cli.settings import PluginSettings, Settings
from aipm_cli.table_check import unknown_key
from aipm_cli.time_limit import limited
from aipm_core import (
    ConfigError,
    Gateway,
    Lifespan,
    Owned,
    Plugin,
    PluginClass,
    PluginError,
    Store,
    Texts,
    Transport,
)
from aipm_core.host import Installation, known_hooks

logger = logging.getLogger(__name__)
GROUP = "aipm"
SERVER_GROUP = "aipm.server"
"""Names the plugins a second time that have something to do in a server only."""


@dataclass(frozen=True, slots=True)
class Found:
    """An installed plugin that has not been imported yet."""

    name: str
    distribution: str
    entry_point: EntryPoint
    said: str = ""
    """Its version, where nothing installed can tell."""
    server_only: bool = False
    """Whether one agent at standard input and output has no use for it."""
    file: PluginFile | None = None
    """Of a plugin that is one file in a directory somebody named."""

    @property
    def version(self) -> str:
        """The version of the distribution; it stands in a file that a start need not read."""
        return self.said or (self.entry_point.dist.version if self.entry_point.dist else "?")

    @property
    def first_party(self) -> bool:
        """Whether aipm itself ships the plugin."""
        return self.distribution == DISTRIBUTION

    def load(self) -> PluginClass:
        """Import the plugin's class, if the program is one it was made for."""
        self._check_requirements()
        try:
            with limited(self.name, "its import"):
                loaded = self.file.load() if self.file else self.entry_point.load()
        except PluginError:
            raise
        except (Exception, SystemExit) as error:
            raise PluginError(self.name, f"cannot be imported: {error}") from error
        if not (isinstance(loaded, type) and issubclass(loaded, Plugin)):
            raise PluginError(self.name, f"{self.entry_point.value} is not a Plugin class")
        if loaded.aipm_api != Plugin.aipm_api:
            problem = f"is written for aipm_api = {loaded.aipm_api!r}, this is {Plugin.aipm_api}"
            raise PluginError(self.name, problem)
        return loaded

    def _check_requirements(self) -> None:
        dist = self.entry_point.dist
        if self.first_party or dist is None:
            return
        ours = version(DISTRIBUTION)
        if (needed := unmet(dist.requires or (), ours)) is not None:
            raise PluginError(self.name, f"{self.distribution} needs {needed}, this is {ours}")


@dataclass(frozen=True, slots=True)
class Choice:
    """An installed plugin, whether it is on, and the reason; ``problem`` keeps it from starting."""

    found: Found
    enabled: bool
    reason: str
    problem: str = ""

    def load(self) -> PluginClass:
        """Import the plugin's class, if nothing speaks against it."""
        if self.problem:
            raise PluginError(self.found.name, self.problem)
        return self.found.load()


def installed() -> list[Found]:
    """List installed plugins by name, aipm's own before others of that name."""
    own = own_points(SERVER_GROUP)
    found = [
        Found(
            point.name,
            point.distribution,
            point.entry_point,
            server_only=point.name in (own if point.is_own else _served_by(point)),
        )
        for point in points_of(GROUP)
    ]
    files = [Found(one.name, str(one.file), one.entry_point, file=one) for one in plugin_files()]
    return sorted((*found, *files), key=lambda one: (one.name, not one.first_party))


def _served_by(point: Point) -> Collection[str]:
    """Return which plugins of a distribution only a server needs."""
    dist = point.entry_point.dist
    return dist.entry_points.select(group=SERVER_GROUP).names if dist else ()


def choose(found: Iterable[Found], settings: Settings) -> list[Choice]:
    """Keep first-party plugins unless switched off, others only if switched on."""
    by_name: dict[str, list[Found]] = {}
    for item in found:
        by_name.setdefault(item.name, []).append(item)
    for name in settings.plugins:
        if name not in by_name:
            where = f"{settings.file or 'settings'}: [plugins.{name}]: no such plugin is installed"
            raise ConfigError(unknown_key(where, name, list(by_name)))
    return [choice for items in by_name.values() for choice in _choices(items, settings)]


def _choices(items: list[Found], settings: Settings) -> list[Choice]:
    """Choose among the distributions that offer one name: aipm, else whom the settings name."""
    name, wanted = items[0].name, settings.of(items[0].name).distribution
    if items[0].first_party:
        reason = f"not used: {DISTRIBUTION} has a plugin of that name"
        others = [Choice(item, False, reason) for item in items[1:]]
        return [_choice(items[0], settings), *others]
    choices = [_choice(item, settings) for item in items]
    if wanted:
        return [_of_distribution(choice, wanted, items) for choice in choices]
    if len(items) > 1 and choices[0].enabled:
        both = " and ".join(item.distribution for item in items)
        which = f'say which in [plugins.{name}] with distribution = "{items[0].distribution}"'
        problem = f"{both} both have it; {which}"
        return [Choice(item, False, problem, problem) for item in items]
    return choices


def _of_distribution(choice: Choice, wanted: str, items: list[Found]) -> Choice:
    if choice.found.distribution == wanted:
        return choice
    problem = ""
    if wanted not in [item.distribution for item in items]:
        names = " and ".join(item.distribution for item in items)
        problem = f"distribution = {wanted!r} does not have it; {names} has"
    return Choice(choice.found, False, f"the settings name {wanted}", problem)


def _choice(item: Found, settings: Settings) -> Choice:
    wanted = settings.of(item.name).enabled
    if wanted is not None:
        return Choice(item, wanted, f"enabled = {str(wanted).lower()} in the settings")
    if item.first_party:
        return Choice(item, True, "first-party, on by default")
    if item.file is not None:
        return Choice(item, True, "in the directory of --plugin-dir")
    if item.name in settings.plugins:
        return Choice(item, True, "named in the settings")
    return Choice(item, False, "third-party, off until named in the settings")


def load(
    choices: Iterable[Choice], settings: Settings, failures: dict[str, str] | None = None
) -> dict[str, PluginClass]:
    """Import the plugins that are on. A broken one stops the start unless it is optional.

    What was left out, and why, is noted in ``failures``.
    """
    classes: dict[str, PluginClass] = {}
    for choice in choices:
        name = choice.found.name
        if not choice.enabled and not choice.problem:
            continue
        try:
            classes[name] = choice.load()
        except PluginError as error:
            skip_optional(error, settings.of(name))
            if failures is not None:
                failures[name] = error.reason
    return without_replaced(classes)


def without_replaced(classes: dict[str, PluginClass]) -> dict[str, PluginClass]:
    """Leave out the plugins whose place another takes; refuse two that want one place."""
    takers: dict[str, str] = {}
    for name, plugin in classes.items():
        for replaced in plugin.replaces:
            if replaced == name:
                raise PluginError(name, "replaces itself")
            if (other := takers.setdefault(replaced, name)) != name:
                raise PluginError(name, f"replaces {replaced}, as {other} does; switch one off")
    for replaced in sorted(takers.keys() & classes.keys()):
        logger.info("plugin %s stands in the place of %s", takers[replaced], replaced)
    return {name: plugin for name, plugin in classes.items() if name not in takers}


def skip_optional(error: PluginError, table: PluginSettings) -> None:
    """Go on without a plugin whose table says ``optional = true``; raise for any other."""
    if not table.optional:
        raise error
    text, about = "optional plugin %s skipped: %s", {"plugin": error.plugin}
    logger.warning(text, error.plugin, error.reason, extra=about)


class InstalledPlugins(Installation):
    """What is installed, whether it is on or off."""

    def __init__(self, choices: Iterable[Choice] = (), *, people: bool = True) -> None:
        self.people = people
        self._off = [choice.found for choice in choices if not choice.enabled]

    def owner_of(self, words: str) -> str | None:
        """Name the switched-off first-party plugin that has the words for a tool."""
        for found in self._off:
            if found.first_party:
                package = found.load().__module__.partition(".")[0]
                if Texts.load(package, "en").find(f"{words}.description") is not None:
                    return found.name
        return None

    def hooks(self) -> Collection[str]:
        """Return the hooks of every plugin that aipm itself ships."""
        return known_hooks({found.name: found.load() for found in installed() if found.first_party})

    def limited(self, plugin: str, what: str) -> AbstractContextManager[None]:
        """Give up a plugin whose code does not return."""
        return limited(plugin, what)

    def alive(self, owned: Owned[Lifespan]) -> AbstractAsyncContextManager[None]:
        """Hold a lifespan open in a task of its own."""
        return alive(owned)

    async def serve(
        self, transports: Sequence[Owned[Transport]], gateway: Gateway, store: Store
    ) -> None:
        """Run transports until all are done, each in a task of its own."""
        await serve_all(transports, gateway, store)

    def is_own(self, plugin: type) -> bool:
        """Return whether aipm itself ships a plugin."""
        package = plugin.__module__.partition(".")[0]
        modules = [point.module for point in own_points(GROUP).values()]
        return package in {module.partition(".")[0] for module in modules}
