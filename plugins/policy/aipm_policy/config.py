"""Settings of this plugin: ``[plugins.policy]`` and ``[[plugins.policy.rules]]``."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_ui_gateway.api import Level
from pydantic import Field

from aipm_core import PluginConfig, Purpose
from aipm_policy.api import Decision


class Rule(PluginConfig):
    """Decides about the calls it matches. Patterns know ``*``, ``?`` and ``[…]``."""

    tool: str
    """A pattern of tool names."""
    decision: Decision
    """What happens to a call that matches; of several the most restrictive counts."""
    agent: str | None = None
    """A pattern of agent ids."""
    project: str | None = None
    """A pattern of project ids."""
    purpose: Purpose | None = None
    """Only sessions of this purpose."""
    arguments: Mapping[str, str] = Field(default_factory=dict[str, str])
    """Patterns by argument name; all must match. What is left out counts with its default."""
    level: Level | None = None
    """How loudly a person is asked."""
    message: str | None = None
    """What a person is told."""
    elicitation: bool = False
    """Whether the person at the agent's own client may answer; only where the level is INFO."""


class PolicyConfig(PluginConfig):
    """The rules, how long people have to answer, and how long things are remembered."""

    rules: tuple[Rule, ...] = ()
    """See the table of rules."""
    confirmation_seconds: float = Field(default=300, gt=0, le=86_400)
    """How long people have to answer; then the call is denied."""
    check_seconds: float = Field(default=5, gt=0, le=60)
    """How long a policy of another plugin may think; then it denies."""
    elicitation: bool = False
    """Ask at the agent's own client as well, where a rule allows it and the level is INFO."""
    max_pending: int = Field(default=20, ge=1)
    """Questions one session may have open."""
    session_hours: float = Field(default=12, gt=0)
    """Life of a yes for the session."""
    always_days: float = Field(default=30, gt=0)
    """Life of a yes for good."""
    audit_days: float = Field(default=365, gt=0)
    """How long the audit trail is kept."""
    keep_days: float = Field(default=30, gt=0)
    """How long questions and permissions are remembered after they have run out."""
