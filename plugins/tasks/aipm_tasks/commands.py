"""``aipm task``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aipm_core.commands import AsJson, Config, pairs, say, show, table, with_service

if TYPE_CHECKING:
    from aipm_core import ServiceKey
    from aipm_tasks.desk import Desk

task = typer.Typer(help="Tasks agents work on.", rich_markup_mode=None, no_args_is_help=True)


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


TaskId = Annotated[str, typer.Argument(metavar="ID", help="The task's id.")]


@task.command("add")
def add(
    project: Annotated[str, typer.Option(help="The project's id.")],
    title: Annotated[str, typer.Option(help="What is to be done.")],
    assignee: Annotated[str | None, typer.Option(help="Who is to do it.")] = None,
    description: Annotated[str, typer.Option(help="More about it.")] = "",
    priority: Annotated[Priority, typer.Option(help="How urgent it is.")] = Priority.medium,
    parent: Annotated[str | None, typer.Option(help="The task it is a part of.")] = None,
    status: Annotated[Status, typer.Option(help="Where it stands.")] = Status.backlog,
    depends_on: Annotated[
        list[str] | None, typer.Option(help="A task to finish first; may be given again.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Add a task."""
    if not title.strip():
        raise typer.BadParameter("a task needs a title", param_hint="--title")

    async def work(desk: Desk, _: object) -> Any:  # noqa: ANN401
        from aipm_tasks.creation import NewTask
        from aipm_tasks.desk import OPERATOR

        return await desk.add(
            NewTask(
                project_id=project,
                title=title,
                actor_id=OPERATOR,
                description=description,
                priority=priority.value,
                status=status.value,
                assignee_id=assignee,
                parent_task_id=parent,
                dependencies=tuple(depends_on or ()),
            )
        )

    made = with_service(config, _desk, work)
    human = f"added task {made.id} ({made.status})"
    show(_shown(made), as_json=as_json, human=lambda: say(human))


@task.command("list")
def list_tasks(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    status: Annotated[Status | None, typer.Option(help="Only with this status.")] = None,
    assignee: Annotated[str | None, typer.Option(help="Only of one agent.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many.")] = 1000,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List tasks in the order they were added."""
    found, more = with_service(
        config,
        _desk,
        lambda desk, _: desk.page(project, status.value if status else None, assignee, limit=limit),
    )
    rows = [_shown(item) for item in found]
    show(rows, as_json=as_json, human=lambda: _print_list(rows, more=more))


@task.command("show")
def show_task(id: TaskId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Show a task and what happened to it."""
    found, past = with_service(config, _desk, lambda desk, _: desk.get(id))
    data = _shown(found)

    def human() -> None:
        pairs(data)
        say()
        _print_history(past)

    show(data, as_json=as_json, human=human)


@task.command("history")
def history(id: TaskId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """List what happened to a task, and who did it."""
    _, past = with_service(config, _desk, lambda desk, _: desk.get(id))
    show(past, as_json=as_json, human=lambda: _print_history(past))


@task.command("status")
def move(
    id: TaskId,  # noqa: A002
    status: Annotated[Status, typer.Argument(metavar="STATUS", help="Where to move it.")],
    reason: Annotated[str | None, typer.Option(help="Why; its agent is told.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Move a task; blocking or cancelling a running one stops its agent."""
    moved = with_service(config, _desk, lambda desk, _: desk.move(id, status.value, reason))
    show(_shown(moved), as_json=as_json, human=lambda: say(f"{id} is now {moved.status}"))


def _desk() -> ServiceKey[Desk]:
    from aipm_tasks.desk import DESK

    return DESK


def _shown(item: Any) -> dict[str, Any]:  # noqa: ANN401
    from aipm_tasks.ledger import shown

    return shown(item)


def _print_list(rows: list[dict[str, Any]], *, more: bool) -> None:
    columns = ("id", "status", "priority", "assignee_id", "project_id", "title")
    table(
        ("task", "status", "priority", "assignee", "project", "title"),
        ([row[name] for name in columns] for row in rows),
        empty="no task yet; `aipm task add --project P --title T` adds one",
    )
    if more:
        say(f"… and more: `--limit` shows more than {len(rows)}")


def _print_history(past: list[dict[str, Any]]) -> None:
    table(
        ("at", "who", "what", "from", "to", "reason"),
        (list(entry.values()) for entry in past),
        empty="nothing has happened yet",
    )
