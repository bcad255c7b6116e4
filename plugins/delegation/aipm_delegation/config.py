"""Settings of this plugin: ``[plugins.delegation]``."""

from __future__ import annotations

from pydantic import Field

from aipm_core import PluginConfig


class DelegationConfig(PluginConfig):
    """How long a chat session may sit on a delegation, and how often it is offered."""

    lease_seconds: float = Field(default=900, gt=0)
    """A chat session not heard of for so long loses what it took."""
    max_attempts: int = Field(default=3, ge=1)
    """A delegation given up so often has failed."""
    keep_days: float = Field(default=90, gt=0)
    """How long delegations are kept after they have ended."""
