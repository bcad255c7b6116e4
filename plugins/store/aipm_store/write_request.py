"""A unit on its way through a writer: what came of it, and who waits to be told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from aipm_core import Tx, Unit, WakeNote

T = TypeVar("T")


class WakingTx(Tx, Protocol):
    """A transaction that knows whom it is going to wake."""

    @property
    def topics(self) -> set[str]:
        """Return the topics named so far."""


@dataclass(slots=True)
class Job:
    """One unit and its answer, which is given after the commit."""

    unit: Unit[Any]
    answer: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None
    topics: set[str] = field(default_factory=set)

    def fail(self, error: BaseException) -> None:
        """Have changed nothing, so wake nobody."""
        self.error, self.topics = error, set()


async def noted(unit: Unit[T], notes: Sequence[WakeNote], transaction: WakingTx) -> T:
    """Run a unit, and let the notes write down whom it wakes."""
    result = await unit(transaction)
    if transaction.topics:
        for note in notes:
            await note(transaction, frozenset(transaction.topics))
    return result


def topics_of(batch: Iterable[Job]) -> set[str]:
    """Return whom a batch wakes."""
    return set[str]().union(*(job.topics for job in batch))


def deliver(batch: Iterable[Job]) -> None:
    """Tell everybody who still waits what came of it."""
    for job in batch:
        if job.answer.cancelled():
            continue
        if job.error is None:
            job.answer.set_result(job.result)
        else:
            job.answer.set_exception(job.error)
