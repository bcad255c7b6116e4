"""Settings of the plugin."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class McpConfig(PluginConfig):
    """How a waiting call stays in touch."""

    progress_seconds: float = Field(default=5.0, gt=0, le=30)
    """How often a waiting call tells a client that asked for it that it is still alive."""
