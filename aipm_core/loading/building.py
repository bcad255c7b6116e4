"""Makes every plugin and registers it under its entry-point name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pydantic import BaseModel

from aipm_core.errors import PluginError, StartupError
from aipm_core.hookspecs import Hooks
from aipm_core.loading.collecting import Manager
from aipm_core.loading.installation import Installation
from aipm_core.loading.order import ordered
from aipm_core.loading.validation import misuse_of
from aipm_core.plugin import Plugin, PluginClass, PluginContext
from aipm_core.settings import BaseSettings
from aipm_core.texts import Texts

MakeContext = Callable[[str, BaseModel, Texts], PluginContext[Any]]


def build(
    classes: Mapping[str, PluginClass],
    settings: BaseSettings,
    make_context: MakeContext,
    known: Collection[str],
    installation: Installation,
) -> Manager:
    """Check every plugin's settings and hooks, then build them in order."""
    names = ordered(classes)
    configs = {
        name: settings.config_of(
            name, classes[name].config_model, own_section=classes[name].own_section
        )
        for name in names
    }
    manager = Manager(installation)
    owned = (plugin.hooks for plugin in classes.values() if plugin.hooks is not None)
    for specs in (Hooks, *owned):
        manager.add_hookspecs(specs)
    for name in names:
        _check_hooks(name, classes[name], known, installation)
        texts = _texts(name, classes[name], settings)
        _register(manager, name, classes[name], make_context(name, configs[name], texts))
    return manager


def _check_hooks(
    name: str, plugin: PluginClass, known: Collection[str], installation: Installation
) -> None:
    """Refuse a misspelt hook; one of a plugin that is switched off is not misspelt."""
    if misuse_of(plugin, known) is None:
        return
    if (misuse := misuse_of(plugin, {*known, *installation.hooks()})) is not None:
        raise PluginError(name, misuse)


def _texts(name: str, plugin: PluginClass, settings: BaseSettings) -> Texts:
    try:
        return Texts.load(plugin.__module__.partition(".")[0], settings.locale)
    except Exception as error:
        raise PluginError(name, f"locale catalogue {settings.locale}.toml: {error}") from error


def _register(
    manager: Manager, name: str, plugin: PluginClass, context: PluginContext[Any]
) -> None:
    try:
        with manager.installation.limited(name, "its constructor"):
            built: Plugin[Any] = plugin(context)
        manager.register(built, name=name)
    except StartupError:
        raise
    except (Exception, SystemExit) as error:
        raise PluginError(name, f"cannot be built: {error}") from error
