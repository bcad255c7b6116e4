"""Settings of this plugin: ``[plugins.conversations]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class ConversationsConfig(PluginConfig):
    """How long a conversation may stand still."""

    pending_seconds: float = Field(default=300, gt=0)
    """An invitation nobody takes up expires after this."""
    active_seconds: float = Field(default=600, gt=0)
    """A conversation without a message for so long ends."""
    session_lost_seconds: float = Field(default=120, ge=0)
    """It also ends when one side has had no chat session for so long."""
