"""Settings of this plugin: ``[plugins.sessions]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class SessionsConfig(PluginConfig):
    """How long sessions live, how many there may be, and how often a login may fail."""

    idle_seconds: float = Field(default=3600, gt=0)
    """A session nobody uses ends after this."""
    silent_seconds: float = Field(default=600, gt=0)
    """A session that has not called for so long no longer counts as running; it may go on."""
    hard_seconds: float = Field(default=86_400, gt=0)
    """No session lives longer."""
    keep_days: float = Field(default=30, gt=0)
    """How long ended sessions are remembered, and tokens that have run out."""
    ui_token_days: float = Field(default=30, gt=0)
    """Life of a person's token."""
    login_hours: float = Field(default=12, gt=0)
    """A person's login that nobody uses ends after this."""
    failed_logins_per_minute: int = Field(default=5, ge=1)
    """For one agent id; then ``rate_limited``."""
    max_sessions: int = Field(default=32, ge=1)
    """Live sessions of one agent in one project, per purpose; one more ends the oldest."""
