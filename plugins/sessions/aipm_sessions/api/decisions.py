"""Decisions that wait for a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from aipm_core import Reader, ServiceKey


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingDecision:
    """Something that waits for a person's yes or no."""

    id: str
    kind: str
    project_id: str
    agent_id: str
    summary: str
    created_at: str
    expires_at: str | None = None


class AnswerDecision(Protocol):
    """How a source of decisions takes an answer."""

    async def __call__(
        self, decision_id: str, *, approved: bool, by: str, reason: str | None
    ) -> bool:
        """Answer one of this source's decisions; ``False`` if the id is not one of them.

        ``by`` is the id of a person, or ``operator`` for whoever has the command line. Raises
        ``CallError`` 409 when it was answered before and 403 when ``by`` may not answer.
        """
        ...


class AnswerWithMore(Protocol):
    """How a source takes an answer with a note to the agent, for once or for longer."""

    async def __call__(
        self,
        decision_id: str,
        *,
        approved: bool,
        by: str,
        reason: str | None,
        note: str | None,
        scope: str,
    ) -> bool:
        """Answer as ``AnswerDecision`` does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSource:
    """A plugin that asks people for decisions; ``pending`` lists what waits, oldest first.

    A source without ``answer_with_more`` takes a note as the reason, and answers for once only.
    """

    name: str
    pending: Callable[[Reader, str | None], Awaitable[list[PendingDecision]]]
    answer: AnswerDecision
    answer_with_more: AnswerWithMore | None = None


class Decisions(Protocol):
    """Everything that waits for a person, in one place."""

    async def pending(self, db: Reader, project_id: str | None = None) -> list[PendingDecision]:
        """List what waits, oldest first."""
        ...

    async def answer(
        self,
        decision_id: str,
        *,
        approved: bool,
        by: str,
        reason: str | None = None,
        note: str | None = None,
        scope: str = "once",
    ) -> None:
        """Answer a decision, wherever it comes from; ``CallError`` 404 if nobody knows it."""
        ...


DECISIONS = ServiceKey[Decisions]("sessions.decisions")
