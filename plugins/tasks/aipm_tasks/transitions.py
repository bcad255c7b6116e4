"""The one table of how a task may move, and the one rule of when it is finished."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_tasks.api import Priority, Status

NEXT: Mapping[Status, tuple[Status, ...]] = {
    "backlog": ("todo", "in_progress", "cancelled"),
    "todo": ("backlog", "in_progress", "cancelled"),
    "in_progress": ("todo", "blocked", "done", "cancelled"),
    "blocked": ("todo", "in_progress", "cancelled"),
    "done": (),
    "cancelled": (),
}
FINISHED: tuple[Status, ...] = ("done", "cancelled")
FINISHED_SQL = "('done', 'cancelled')"
ADJUSTABLE: tuple[Status, ...] = ("backlog", "todo")
RANKS: Mapping[Priority, int] = {"urgent": 0, "high": 1, "medium": 2, "low": 3}


def may_move(now: Status, wanted: Status) -> bool:
    """Say whether the table has this step."""
    return wanted in NEXT[now]


def is_finished(status: Status) -> bool:
    """Say whether nothing more will happen: done and cancelled count alike everywhere."""
    return status in FINISHED
