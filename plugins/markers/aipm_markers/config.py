"""Settings of this plugin: ``[plugins.markers]``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, StringConstraints

from aipm_core import PluginConfig
from aipm_markers.grammar import Action

Word = Annotated[str, StringConstraints(pattern=r"^[^@＠:：\s]{1,40}$")]


class MarkersConfig(PluginConfig):
    """More command words: ``commands = { "新規" = "request_task", "todo" = "request_task" }``."""

    commands: dict[Word, Action] = Field(default_factory=dict)
    """More words: ``{ "new" = "request_task" }`` makes ``@@new:`` a marker."""
