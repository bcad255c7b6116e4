"""What the commands about tasks take, and how they tell what they did."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from aipm_cli.api import People, say, show, words


class Status(StrEnum):
    """Where a task stands."""

    backlog = "backlog"
    todo = "todo"
    in_progress = "in_progress"
    blocked = "blocked"
    done = "done"
    cancelled = "cancelled"


class Priority(StrEnum):
    """How urgent a task is."""

    low = "low"
    medium = "medium"
    high = "high"
    urgent = "urgent"


TaskId = Annotated[
    str, typer.Argument(metavar="ID", help="The task's id; the beginning is enough.")
]
Reason = Annotated[str | None, typer.Option(help="Why; its agent is told.")]


async def task_id(people: People, text: str) -> str:
    """Return the whole id of a task of which the beginning was given."""
    return str((await people.call("get_task", task_id=text))["task"]["id"])


def tell(config: Path | None, key: str, data: Any, *, as_json: bool) -> None:  # noqa: ANN401
    """Print a task that was made or changed, or the sentence about it."""
    text = words("aipm_tasks", config)
    status = text(f"cli.statuses.{data['status']}")
    line = text(f"cli.{key}", task=data["id"], status=status, who=data["assignee_id"] or "-")
    show(data, as_json=as_json, human=lambda: say(line))
