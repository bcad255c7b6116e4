"""Settings of this plugin: ``[plugins.agent_loop]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class AgentLoopConfig(PluginConfig):
    """Which model answers, and how far a run may go."""

    provider: str = "scripted"
    script: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    instructions: str = ""
    model_seconds: float = Field(default=300, gt=0)
    max_steps: int = Field(default=20, ge=1)
    max_tool_calls: int = Field(default=50, ge=0)
    max_tokens: int = Field(default=200_000, ge=1)
    max_session_tokens: int = Field(default=2_000_000, ge=1)
    max_queued: int = Field(default=20, ge=1)
    max_text: int = Field(default=100_000, ge=1)
    max_images: int = Field(default=4, ge=0)
    max_image_bytes: int = Field(default=700_000, ge=1)
    history_messages: int = Field(default=200, ge=2)
    file_bytes: int = Field(default=256 * 1024, ge=1)
    list_entries: int = Field(default=1000, ge=1)
    shell_seconds: float = Field(default=60, gt=0, le=3600)
    shell_output_bytes: int = Field(default=64 * 1024, ge=1)
    shell_environment: tuple[str, ...] = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ")
