"""Settings of this plugin: ``[plugins.views]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class ViewsConfig(PluginConfig):
    """How long changes can be caught up with, and how much one person may ask for."""

    keep_hours: float = Field(default=24, gt=0)
    """How long a reader may be away and still go on from its cursor."""
    keep_unwatched_days: float = Field(default=7, gt=0)
    """After so long without a reader, the records of a project are no longer kept up to date."""
    keep_notes_days: float = Field(default=30, gt=0)
    """How long it is remembered that an inbox item was snoozed or handed over."""
    max_streams_per_person: int = Field(default=1000, ge=1)
    """Open streams of one person."""
    heartbeat_seconds: float = Field(default=15, gt=0)
    """How often a silent stream shows that it lives."""
    drain_seconds: float = Field(default=10, gt=0)
    """Who does not take a frame for so long is dropped and can catch up later."""
