"""Settings of this plugin: ``[plugins.policy]`` and ``[[plugins.policy.rules]]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from aipm_ui_gateway.api import Level
from pydantic import AliasChoices, ConfigDict, Field

from aipm_core import PluginConfig, Purpose
from aipm_policy.api import Decision

Patterns: TypeAlias = str | tuple[str, ...]
_HOUR = "([01][0-9]|2[0-3]):[0-5][0-9]"


class Rule(PluginConfig):
    """Decides about the calls it matches. Patterns know ``*``, ``?`` and ``[…]``."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

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
    arguments: Mapping[str, Patterns] = Field(
        default_factory=dict[str, Patterns],
        validation_alias=AliasChoices("arguments", "argument"),
    )
    """Patterns by argument name, one or a list of them; all arguments must match. What is left out
    counts with its default. ``argument.command = "…"`` says the same as ``arguments = { … }``."""
    place: Literal["inside", "outside"] | None = None
    """Only native calls whose files are inside, or not all inside, the run's working copy."""
    unreadable: bool | None = None
    """Only native commands that cannot be taken apart (``true``), or that can (``false``)."""
    between: str | None = Field(default=None, pattern=f"^{_HOUR}-{_HOUR}$")
    """Only at this time of day by the server's clock: ``22:00-07:00``."""
    level: Level | None = None
    """How loudly a person is asked."""
    message: str | None = None
    """What a person is told."""
    elicitation: bool = False
    """Whether the person at the agent's own client may answer; only where the level is INFO."""
    approvers: int = Field(default=1, ge=1, le=2)
    """How many different people have to agree; one no is enough."""
    confirmation_seconds: float | None = Field(default=None, gt=0, le=604_800)
    """How long people have to answer, if it is not as long as for other questions."""


class PolicyConfig(PluginConfig):
    """The rules, how long people have to answer, and how long things are remembered."""

    rules: tuple[Rule, ...] = ()
    """See the table of rules."""
    native_defaults: bool = True
    """Whether the rules that are shipped for programs' own tools hold where none of yours does."""
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
    rehearsal_days: float = Field(default=14, ge=0)
    """How long the arguments of judged calls are kept so that rules can be tried on them."""
    keep_days: float = Field(default=30, gt=0)
    """How long questions and permissions are remembered after they have run out."""
