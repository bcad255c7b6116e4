"""Tasks on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aipm_cli.api import local_time, say, short_ids, table, wrapped

if TYPE_CHECKING:
    from aipm_core import Texts

_FIELDS = ("status", "priority", "assignee_id", "requester_id", "project_id", "parent_task_id")


def print_list(
    rows: Sequence[dict[str, Any]], text: Texts, *, more: bool, one_project: bool
) -> None:
    """Print tasks, one a line."""
    short = short_ids(row["id"] for row in rows)
    names = ("task", "status", "priority", "assignee", *(() if one_project else ("project",)))
    table(
        [text(f"cli.heads.{name}") for name in (*names, "title")],
        (
            (
                *(short[row["id"]], text(f"cli.statuses.{row['status']}")),
                *(text(f"cli.priorities.{row['priority']}"), row["assignee_id"]),
                *(() if one_project else (row["project_id"],)),
                row["title"],
            )
            for row in rows
        ),
        empty=text("cli.no_task"),
    )
    if more:
        say(text("cli.more_tasks", number=len(rows)))


def print_task(found: dict[str, Any], text: Texts) -> None:
    """Print everything about a task."""
    task = found["task"]
    for line in wrapped(f"{task['id']}  {task['title']}", indent=4):
        say(line)
    for name, value in _facts(found, text).items():
        for line in wrapped(f"  {text(f'cli.fields.{name}')}: {value}", indent=4) if value else ():
            say(line)
    for part in task["description"].split("\n") if task["description"] else ():
        for line in wrapped(f"    {part}", indent=4):
            say(line)
    say()
    print_history(found["history"], text)


def _facts(found: dict[str, Any], text: Texts) -> dict[str, str]:
    task = found["task"]
    known = {name: task[name] or "" for name in _FIELDS}
    known["status"] = text(f"cli.statuses.{task['status']}")
    known["status"] += f" ({text('cli.fields.archived')})" if found["archived"] else ""
    known["priority"] = text(f"cli.priorities.{task['priority']}")
    if task["approval_status"] != "approved":
        known["approval_status"] = text(f"cli.approvals.{task['approval_status']}")
    known["held_by"] = found["held_by"] or ""
    return {**known, "dependencies": ", ".join(found["dependencies"])}


def print_history(past: Sequence[dict[str, Any]], text: Texts) -> None:
    """Print what happened to a task."""
    names = ("at", "who", "what", "reason")
    table(
        [text(f"cli.heads.{name}") for name in names],
        ((local_time(e["at"]), e["actor_id"], _what(e, text), e["reason"]) for e in past),
        empty=text("cli.no_history"),
    )


def _what(entry: dict[str, Any], text: Texts) -> str:
    word = text.find(f"cli.changes.{entry['what']}") or str(entry["what"])
    steps = [entry["from_status"], entry["to_status"]]
    known = [text(f"cli.statuses.{step}") for step in steps if step]
    return f"{word} {' → '.join(known)}" if known else word
