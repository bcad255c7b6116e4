"""Settings of this plugin: ``[plugins.agent_loop]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class AgentLoopConfig(PluginConfig):
    """Which model answers, and how far a run may go."""

    provider: str = "scripted"
    """Who answers: ``scripted`` needs no model, ``pydantic_ai`` asks one."""
    script: str | None = None
    """For ``scripted``: a JSON file with a list of turns; without it input is echoed."""
    model: str | None = None
    """For ``pydantic_ai``: which one, as ``PROVIDER:NAME``."""
    base_url: str | None = None
    """Another address of the model's API."""
    api_key_env: str | None = None
    """The environment variable that holds the key."""
    instructions: str = ""
    """What the model is told besides our own words."""
    model_seconds: float = Field(default=300, gt=0)
    """The longest wait for one response."""
    max_steps: int = Field(default=20, ge=1)
    """Responses of the model in one run."""
    max_tool_calls: int = Field(default=50, ge=0)
    """Tool calls in one run."""
    max_tokens: int = Field(default=200_000, ge=1)
    """Tokens in one run."""
    max_session_tokens: int = Field(default=2_000_000, ge=1)
    """Tokens in one session."""
    max_queued: int = Field(default=20, ge=1)
    """Inputs that may wait while a run goes on."""
    max_text: int = Field(default=100_000, ge=1)
    """Characters in one input."""
    max_images: int = Field(default=4, ge=0)
    """Images with one input."""
    max_image_bytes: int = Field(default=700_000, ge=1)
    """Bytes of one image."""
    history_messages: int = Field(default=200, ge=2)
    """Messages the model is shown."""
    keep_days: float = Field(default=30, gt=0)
    """How long a conversation is kept after its session has ended."""
    keep_inputs_days: float = Field(default=1, gt=0)
    """How long what a person said is also kept as it came in; the conversation has it anyway."""
    file_bytes: int = Field(default=256 * 1024, ge=1)
    """How much ``file:read`` returns at once."""
    list_entries: int = Field(default=1000, ge=1)
    """How much ``file:list`` returns."""
    shell_seconds: float = Field(default=60, gt=0, le=3600)
    """How long ``shell:execute`` may run."""
    shell_output_bytes: int = Field(default=64 * 1024, ge=1)
    """How much of its output is kept."""
    shell_environment: tuple[str, ...] = ("PATH", "HOME", "USER", "LANG", "LC_ALL", "TMPDIR", "TZ")
    """The variables that programs get to see."""
