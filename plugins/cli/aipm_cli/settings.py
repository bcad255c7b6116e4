"""Settings of the whole program: the kernel's keys, one table per plugin, and sections.

A part of the program that has a section of its own names its model in the entry-point group
``aipm.settings``; its owner asks for it by that model. Plugins of others have their own table, so
that nothing of theirs is imported before it is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model

from aipm_cli.entry_points import own_points
from aipm_cli.table_check import checked
from aipm_core import NoConfig
from aipm_core.host import BaseSettings

GROUP = "aipm.settings"
M = TypeVar("M", bound=BaseModel)


class PluginSettings(BaseModel):
    """What every plugin table may say; the rest belongs to the plugin."""

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    enabled: bool | None = None
    """On or off. Left out: on for aipm's own plugins, and for others that have a table."""
    optional: bool = False
    """Start without the plugin if it is broken, instead of not starting."""
    distribution: str = ""
    """Which distribution's, where two of them have a plugin of this name."""

    def own(self) -> Mapping[str, Any]:
        """Return the keys that belong to the plugin."""
        return self.model_extra or {}


class Settings(BaseSettings):
    """The kernel's keys and one table per plugin; a wrong key is named, with the one meant."""

    person: str | None = None
    """Who gives commands on this machine, by id; left out: the operator."""
    plugins: Mapping[str, PluginSettings] = Field(default_factory=dict[str, PluginSettings])

    def of(self, plugin: str) -> PluginSettings:
        """Return the table of one plugin."""
        return self.plugins.get(plugin, PluginSettings())

    def section(self, model: type[M]) -> M:
        """Return the table that has this model; its defaults if there is none."""
        found = (getattr(self, name) for name in type(self).model_fields)
        return next((table for table in found if isinstance(table, model)), None) or model()

    def config_of(self, plugin: str, model: type[M], *, own_section: bool = False) -> M:
        """Return a plugin's own table, or the section that stands for it."""
        where = f"{self.file or 'settings'}: [plugins.{plugin}]"
        own = self.of(plugin).own()
        if not own_section:
            return checked(model, own, where)
        checked(NoConfig, own, where)
        return self.section(model)


@cache
def settings_model() -> type[Settings]:
    """Return the model of the whole file: the kernel's keys and every section."""
    models = {name: point.load() for name, point in own_points(GROUP).items()}
    sections: dict[str, Any] = {name: (model, model()) for name, model in sorted(models.items())}
    return create_model("SettingsFile", __base__=Settings, **sections)
