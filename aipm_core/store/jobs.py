"""A unit on its way through a writer: what came of it, and who waits to be told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from aipm_core.store.port import Unit


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
