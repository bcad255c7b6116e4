"""Asking the person at the caller's own end, where the caller's program can do that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from aipm_core import Reply, ReplyGiven

Action: TypeAlias = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to ask: a text, the JSON Schema of a flat form, and the asker's own name for it."""

    message: str
    schema: Mapping[str, Any]
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicited:
    """What came back. ``cancel`` is no answer: the person, or the program, looked away."""

    action: Action
    content: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Elicit(Protocol):
    """A way to the caller's user. A transport sets it only if the client said that it can ask.

    ``state`` is what a repeated call brought back of an earlier question. It comes from the wire:
    compare it with a record before believing anything.
    """

    @property
    def state(self) -> str | None:
        """The question this call claims to answer."""

    async def ask(self, question: Question) -> Elicited:
        """Return the answer; raises ``InputRequired`` if the call must be repeated with it."""


class InputRequired(ReplyGiven):
    """The call ends here with a question; the caller makes it again with the answer."""

    def __init__(self, question: Question) -> None:
        super().__init__(Reply(question=question))
