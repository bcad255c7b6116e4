"""Settings of this plugin: ``[plugins.file_chat]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class FileChatConfig(PluginConfig):
    """How soon files are synced to the disk, and how often a file that fails is tried again."""

    sync_seconds: float = Field(default=1.0, gt=0)
    """How soon an appended line is synced to the disk; the database always is at once."""
    retry_seconds: float = Field(default=5.0, gt=0)
    """How soon an append that failed is tried again."""
