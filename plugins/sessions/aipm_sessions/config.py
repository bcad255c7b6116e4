"""Settings of this plugin: ``[plugins.sessions]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class SessionsConfig(PluginConfig):
    """How long sessions live, and how often a login may fail."""

    idle_seconds: float = Field(default=3600, gt=0)
    """A session nobody uses ends after this."""
    hard_seconds: float = Field(default=86_400, gt=0)
    """No session lives longer."""
    keep_days: float = Field(default=30, gt=0)
    """How long ended sessions are remembered."""
    ui_token_days: float = Field(default=30, gt=0)
    """Life of a person's token."""
    failed_logins_per_minute: int = Field(default=5, ge=1)
    """For one agent id; then ``rate_limited``."""
