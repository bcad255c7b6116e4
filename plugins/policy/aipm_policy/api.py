"""What other plugins may know about policy: how to give one, and how to watch confirmations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol, TypeAlias

from aipm_ui_gateway.api import Level

from aipm_core import AnyTool, Json, ServiceKey, Session, Tx, hookspec


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
    workplace: str | None = None
    """The directory a program's own tools may change, for calls of such tools, if it is known."""
    at: float = 0.0
    """When it happens, in seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A decision, the rule it comes from, and what to tell the person who is asked."""

    decision: Decision
    rule: str
    level: Level | None = None
    message: str | None = None
    elicitation: bool = False
    """Whether the person at the agent's own client may answer."""
    approvers: int = 1
    """How many different people have to agree."""
    seconds: float | None = None
    """How long people have to answer; ``None``: as long as the settings say."""
    inquiry: Inquiry | None = field(default=None, repr=False, compare=False)
    """The call as it was judged; the judge fills it in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCheck:
    """A policy: ``check`` looks at a call and gives a verdict, or ``None`` for no opinion."""

    name: str
    check: Callable[[Inquiry], Coroutine[Any, Any, Verdict | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workplaces:
    """Knows where programs work: ``find`` returns the directory of a session, if there is one."""

    name: str
    find: Callable[[Session], Coroutine[Any, Any, str | None]]


class Policies(Protocol):
    """The one place that decides about calls."""

    async def check_permission(
        self,
        tool: AnyTool,
        args: Mapping[str, Json],
        principal: str | None,
        session: Session | None,
    ) -> Verdict:
        """Return the most restrictive verdict of all rules and policies."""
        ...


ConfirmationStatus: TypeAlias = Literal["pending", "approved", "denied", "expired", "cancelled"]


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
    status: ConfirmationStatus
    expires_at: float
    answered_by: str | None = None
    reason: str | None = None
    approvers: int = 1
    first_yes_by: str | None = None
    """Who has agreed already, where two have to."""
    proposal: str | None = None
    """The arguments, as JSON, to which whoever said no would agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationObserver:
    """A say when confirmations change, inside the transactions that change them.

    ``asked`` hears of a new question, ``resolved`` of an answer, an expiry or a cancellation.
    """

    name: str
    asked: Callable[[Tx, Confirmation], Awaitable[None]] | None = None
    resolved: Callable[[Tx, Confirmation], Awaitable[None]] | None = None


class Confirmations(Protocol):
    """The open questions."""

    async def withdraw(self, tx: Tx, session_id: str) -> None:
        """Cancel every open question of a session whose calls have died."""
        ...


class PolicyHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_policies(self) -> Iterable[PolicyCheck]:
        """What is asked about every call besides the rules. A name is given once."""
        return ()

    @hookspec
    def aipm_workplaces(self) -> Iterable[Workplaces]:
        """Where the programs of sessions work, for rules about inside and outside."""
        return ()

    @hookspec
    def aipm_confirmation_observers(self) -> Iterable[ConfirmationObserver]:
        """What happens in the same transaction when a question is asked or answered."""
        return ()


POLICIES = ServiceKey[Policies]("policy.policies")
CONFIRMATIONS = ServiceKey[Confirmations]("policy.confirmations")
