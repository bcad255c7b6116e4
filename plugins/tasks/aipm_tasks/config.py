"""Settings of this plugin: ``[plugins.tasks]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class TasksConfig(PluginConfig):
    """Limits on trees of tasks, and how long a silent session keeps its task."""

    max_depth: int = Field(default=5, ge=1)
    max_children: int = Field(default=50, ge=1)
    lease_seconds: float = Field(default=600, gt=0)
