"""Which wording of a request an answer is for: a request that changes is a new question."""

from __future__ import annotations

import re

from aipm_tasks.api import Task

_CONTENT = ("title", "description", "priority", "assignee_id", "parent_task_id")
_LATER = re.compile(r"\A([^.]+)\.([2-9]|[1-9][0-9]{1,8})")


def is_reworded(before: Task, after: Task) -> bool:
    """Return whether a request that waits asks for something else than it did."""
    waits = before.approval_status == after.approval_status == "pending_approval"
    return waits and any(getattr(before, name) != getattr(after, name) for name in _CONTENT)


def request_id(task_id: str, wording: int) -> str:
    """Return the id under which one wording of a request is answered: the first has the task's."""
    return task_id if wording == 1 else f"{task_id}.{wording}"


def named_by(request: str) -> tuple[str, int]:
    """Return the task and the wording that an id names."""
    found = _LATER.fullmatch(request)
    return (found[1], int(found[2])) if found else (request, 1)
