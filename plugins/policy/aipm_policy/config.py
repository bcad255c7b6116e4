"""Settings of this plugin: ``[plugins.policy]`` and ``[[plugins.policy.rules]]``."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_ui_gateway.api import Level
from pydantic import Field

from aipm_core import PluginConfig
from aipm_core.models import Purpose
from aipm_policy.api import Decision


class Rule(PluginConfig):
    """Decides about the calls it matches. Patterns know ``*``, ``?`` and ``[…]``."""

    tool: str
    decision: Decision
    agent: str | None = None
    project: str | None = None
    purpose: Purpose | None = None
    arguments: Mapping[str, str] = Field(default_factory=dict[str, str])
    level: Level | None = None
    message: str | None = None


class PolicyConfig(PluginConfig):
    """The rules, how long people have to answer, and how long things are remembered."""

    rules: tuple[Rule, ...] = ()
    confirmation_seconds: float = Field(default=300, gt=0, le=86_400)
    check_seconds: float = Field(default=5, gt=0, le=60)
    max_pending: int = Field(default=20, ge=1)
    session_hours: float = Field(default=12, gt=0)
    always_days: float = Field(default=30, gt=0)
    audit_days: float = Field(default=365, gt=0)
