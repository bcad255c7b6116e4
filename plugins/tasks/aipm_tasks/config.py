"""Settings of this plugin: ``[plugins.tasks]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class TasksConfig(PluginConfig):
    """Limits on trees of tasks, and how long a silent session keeps its task."""

    max_depth: int = Field(default=5, ge=1)
    """How deep subtasks may be nested."""
    max_children: int = Field(default=50, ge=1)
    """How many subtasks one task may have."""
    lease_seconds: float = Field(default=600, gt=0)
    """A session silent for so long loses its task to the agent's next one."""
    keep_days: float = Field(default=30, gt=0)
    """How long an idempotency key counts, and a session's report finds the task it had."""
