"""What other plugins may know about policy: how to add one, and how to watch confirmations."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias

from aipm_ui_gateway.api import Level

from aipm_core import AnyTool, Json, ServiceKey, Session, Tx


class Decision(Enum):
    """What a policy says about one call; later members are more restrictive."""

    ALLOW = "ALLOW"
    REQUIRE_USER_CONFIRMATION = "REQUIRE_USER_CONFIRMATION"
    DENY = "DENY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """One call about to happen. ``args`` holds no token."""

    tool: AnyTool
    args: Mapping[str, Json]
    principal: str | None
    session: Session | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A decision, the rule it comes from, and what to tell the person who is asked."""

    decision: Decision
    rule: str
    level: Level | None = None
    message: str | None = None


Check: TypeAlias = Callable[[Inquiry], Coroutine[Any, Any, Verdict | None]]
"""A policy: looks at a call and gives a verdict, or ``None`` for no opinion."""


class Policies(Protocol):
    """The one place that decides about calls."""

    def add(self, name: str, check: Check) -> None:
        """Ask one more policy from now on. Call it in a plugin's constructor."""
        ...

    async def check_permission(
        self,
        tool: AnyTool,
        args: Mapping[str, Json],
        principal: str | None,
        session: Session | None,
    ) -> Verdict:
        """Return the most restrictive verdict of all rules and policies."""
        ...


Status: TypeAlias = Literal["pending", "approved", "denied", "expired", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """A question to a person about one call, bound to session, tool and arguments."""

    id: str
    session_id: str
    project_id: str
    agent_id: str
    tool: str
    args_digest: str
    level: Level
    status: Status
    expires_at: float
    answered_by: str | None = None
    reason: str | None = None


class ConfirmationObserver(Protocol):
    """A plugin that follows confirmations, inside the transactions that change them."""

    async def asked(self, tx: Tx, confirmation: Confirmation) -> None:
        """React to a new question."""
        ...

    async def resolved(self, tx: Tx, confirmation: Confirmation) -> None:
        """React to an answer, an expiry or a cancellation."""
        ...


class Confirmations(Protocol):
    """The open questions."""

    def observe(self, observer: ConfirmationObserver) -> None:
        """Tell an observer from now on. Call it in a plugin's constructor."""
        ...

    async def withdraw(self, tx: Tx, session_id: str) -> None:
        """Cancel every open question of a session whose calls have died."""
        ...


POLICIES = ServiceKey[Policies]("policy.policies")
CONFIRMATIONS = ServiceKey[Confirmations]("policy.confirmations")
