"""The one table of how a task may move, and the one rule of when it is finished."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_tasks.api import Priority, TaskStatus

NEXT: Mapping[TaskStatus, tuple[TaskStatus, ...]] = {
    "backlog": ("todo", "in_progress", "cancelled"),
    "todo": ("backlog", "in_progress", "cancelled"),
    "in_progress": ("todo", "blocked", "done", "cancelled"),
    "blocked": ("todo", "in_progress", "cancelled"),
    "done": (),
    "cancelled": (),
}
FINISHED: tuple[TaskStatus, ...] = ("done", "cancelled")
FINISHED_SQL = "('done', 'cancelled')"
ADJUSTABLE: tuple[TaskStatus, ...] = ("backlog", "todo")
RANKS: Mapping[Priority, int] = {"urgent": 0, "high": 1, "medium": 2, "low": 3}


def may_move(now: TaskStatus, wanted: TaskStatus) -> bool:
    """Return whether the table has this step."""
    return wanted in NEXT[now]


def is_finished(status: TaskStatus) -> bool:
    """Return whether nothing more will happen: done and cancelled count alike everywhere."""
    return status in FINISHED
