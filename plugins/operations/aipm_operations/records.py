"""What plugins give to operations: how long rows are kept, and questions for the doctor."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Literal

from aipm_core import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long the rows of a table are kept once nobody needs them any more.

    ``name`` is that of the table, or says which of its rows. ``forget`` deletes a few hundred
    rows that were over before the given moment and says how many went; it is asked again until
    there are none. What is in use it leaves, however old it is. Of two records with one name the
    later one holds.
    """

    name: str
    days: float
    forget: Callable[[Tx, float], Coroutine[Any, Any, int]]
    every: float = 300.0
    """Seconds between two looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a health check found, and what to do about it."""

    status: Literal["ok", "warn", "fail"]
    message: str
    next: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthCheck:
    """A question ``aipm doctor`` asks; ``aipm doctor --<flag>`` runs ``repair`` as well."""

    name: str
    check: Callable[[], Coroutine[Any, Any, Finding]]
    deadline: float = 30.0
    repair: Callable[[], Coroutine[Any, Any, Finding]] | None = None
    flag: str = ""
