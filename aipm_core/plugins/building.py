"""Makes every plugin and registers it under its entry-point name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pluggy
from pydantic import BaseModel

from aipm_core.config import Settings, checked
from aipm_core.context import Plugin, PluginClass, PluginContext
from aipm_core.errors import PluginError, StartupError
from aipm_core.hookspecs import PROJECT, Hooks
from aipm_core.plugins.order import ordered
from aipm_core.plugins.shape import PREFIX, misuse_of
from aipm_core.texts import Texts


class _Manager(pluggy.PluginManager):
    """Looks for hooks where they can be, instead of at every attribute of a plugin."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:  # noqa: ANN401
        """Return the marks of a hook."""
        return super().parse_hookimpl_opts(plugin, name) if name.startswith(PREFIX) else None


MakeContext = Callable[[str, BaseModel, Texts], PluginContext[Any]]


def build(
    classes: Mapping[str, PluginClass], settings: Settings, make_context: MakeContext
) -> pluggy.PluginManager:
    """Check every plugin's settings, then build them in order."""
    names = ordered(classes)
    configs = {name: _config(name, classes[name], settings) for name in names}
    manager = _Manager(PROJECT)
    manager.add_hookspecs(Hooks)
    for name in names:
        texts = _texts(name, classes[name], settings)
        _register(manager, name, classes[name], make_context(name, configs[name], texts))
    return manager


def _config(name: str, plugin: PluginClass, settings: Settings) -> BaseModel:
    where = f"{settings.file or 'settings'}: [plugins.{name}]"
    return checked(plugin.config_model, dict(settings.of(name).own()), where)


def _texts(name: str, plugin: PluginClass, settings: Settings) -> Texts:
    try:
        return Texts.load(plugin.__module__.partition(".")[0], settings.locale)
    except Exception as error:
        raise PluginError(name, f"locale catalogue {settings.locale}.toml: {error}") from error


def _register(
    manager: pluggy.PluginManager, name: str, plugin: PluginClass, context: PluginContext[Any]
) -> None:
    if (misuse := misuse_of(plugin)) is not None:
        raise PluginError(name, misuse)
    try:
        built: Plugin[Any] = plugin(context)
        manager.register(built, name=name)
    except StartupError:
        raise
    except Exception as error:
        raise PluginError(name, f"cannot be built: {error}") from error
