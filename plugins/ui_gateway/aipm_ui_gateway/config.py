"""Settings of this plugin: ``[plugins.ui_gateway]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig
from aipm_core.wire import LARGEST_BODY


class UiGatewayConfig(PluginConfig):
    """How much one person may ask for, and how long things are kept."""

    auth_seconds: float = Field(default=3, gt=0)
    max_connections_per_person: int = Field(default=1000, ge=1)
    max_unauthenticated: int = Field(default=100, ge=1)
    max_frame_bytes: int = Field(default=256 * 1024, ge=1024, le=LARGEST_BODY)
    commands_per_second: float = Field(default=100, gt=0)
    drain_seconds: float = Field(default=10, gt=0)
    heartbeat_seconds: float = Field(default=15, gt=0)
    keep_events_days: float = Field(default=30, gt=0)
    keep_events_per_session: int = Field(default=10_000, ge=1)
    keep_commands_hours: float = Field(default=72, gt=0)
    sweep_seconds: float = Field(default=300, gt=0)
