"""Settings of this plugin: ``[plugins.notifications]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class NotificationsConfig(PluginConfig):
    """How long notifications are kept."""

    ttl_hours: float = Field(default=168, gt=0)
    """Unread ones expire after this."""
    keep_days: float = Field(default=30, gt=0)
    """Read ones are deleted after this, and so are results that nobody came for."""
