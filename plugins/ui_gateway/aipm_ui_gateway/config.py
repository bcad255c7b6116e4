"""Settings of this plugin: ``[plugins.ui_gateway]``."""

from __future__ import annotations

from aipm_http_server.api import LARGEST_BODY
from pydantic import Field

from aipm_core import PluginConfig


class UiGatewayConfig(PluginConfig):
    """How much one person may ask for, and how long things are kept."""

    auth_seconds: float = Field(default=3, gt=0)
    """How long a WebSocket may stay without a token."""
    max_connections_per_person: int = Field(default=1000, ge=1)
    """Open connections of one person."""
    max_unauthenticated: int = Field(default=100, ge=1)
    """WebSockets that have not shown a token yet; beyond that the oldest is closed."""
    max_unauthenticated_per_address: int = Field(default=50, ge=1)
    """The same for one address."""
    max_frame_bytes: int = Field(default=256 * 1024, ge=1024, le=LARGEST_BODY)
    """The largest WebSocket frame; larger commands go to ``POST /commands``."""
    commands_per_second: float = Field(default=100, gt=0)
    """Commands of one person; bursts of five seconds' worth are fine."""
    drain_seconds: float = Field(default=10, gt=0)
    """Who does not take a frame for so long is dropped and can catch up later."""
    heartbeat_seconds: float = Field(default=15, gt=0)
    """How often a silent event stream shows that it lives."""
    keep_events_days: float = Field(default=30, gt=0)
    """How long events can be replayed."""
    keep_events_per_session: int = Field(default=10_000, ge=1)
    """How many events of a session can be replayed."""
    keep_commands_hours: float = Field(default=72, gt=0)
    """How long a command's id is remembered, so that it has one effect."""
    session_idle_hours: float = Field(default=168, gt=0)
    """A session that nobody follows, in which nobody speaks and nothing runs ends after this."""
    keep_sessions_days: float = Field(default=30, gt=0)
    """How long sessions that have ended are remembered."""
    sweep_seconds: float = Field(default=300, gt=0)
    """How often old events, commands and sessions are deleted."""
