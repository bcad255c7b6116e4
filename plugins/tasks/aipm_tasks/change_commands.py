"""The commands that change a task: each is one of people's tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, People, say, show, with_people, words

from aipm_tasks.command_options import Priority, Reason, Status, TaskId, task_id, tell


def move(
    id: TaskId,  # noqa: A002
    status: Annotated[Status, typer.Argument(metavar="STATUS", help="Where to move it.")],
    reason: Reason = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Move a task; blocking or cancelling a running one stops its agent."""
    data = _changed(config, id, "move_task", status=status.value, reason=reason)
    tell(config, "task_is_now", data, as_json=as_json)


def edit(
    id: TaskId,  # noqa: A002
    title: Annotated[str | None, typer.Option(help="What is to be done.")] = None,
    description: Annotated[str | None, typer.Option(help="More about it.")] = None,
    priority: Annotated[Priority | None, typer.Option(help="How urgent it is.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Change what a task says; an agent at work on it is told."""
    given = {"title": title, "description": description}
    given |= {"priority": priority.value if priority else None}
    if all(value is None for value in given.values()):
        raise typer.BadParameter("name at least one thing to change")
    data = _changed(config, id, "edit_task", **given)
    tell(config, "task_changed", data, as_json=as_json)


def assign(
    id: TaskId,  # noqa: A002
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="Who is to do it.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Give a task to somebody; one in progress goes back to todo and its agent is stopped."""
    data = _changed(config, id, "assign_task", assignee_id=agent)
    tell(config, "task_assigned", data, as_json=as_json)


def unassign(id: TaskId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Take a task from whoever has it; it is nobody's then."""
    tell(config, "task_unassigned", _changed(config, id, "assign_task"), as_json=as_json)


def depend(
    id: TaskId,  # noqa: A002
    on: Annotated[
        list[str] | None, typer.Argument(metavar="[TASK]...", help="Tasks to finish first.")
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say which tasks are to be finished before this one; without any it waits for nothing."""

    async def work(people: People) -> Any:  # noqa: ANN401
        named = [await task_id(people, each) for each in on or ()]
        return await _change(people, id, "set_dependencies", dependencies=named)

    tell(config, "task_changed", with_people(config, work), as_json=as_json)


def reopen(
    id: TaskId,  # noqa: A002
    reason: Annotated[str | None, typer.Option(help="Why; it is in the history.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Put a task that is done or cancelled back to todo."""
    data = _changed(config, id, "reopen_task", reason=reason)
    tell(config, "task_is_now", data, as_json=as_json)


def archive(
    id: TaskId,  # noqa: A002
    undo: Annotated[bool, typer.Option("--undo", help="Bring it back.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Leave a finished task out of lists; `--undo` brings it back."""
    data = _changed(config, id, "archive_task", archived=not undo)
    tell(config, "task_unarchived" if undo else "task_archived", data, as_json=as_json)


def delete(id: TaskId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Delete a task and its history, for good."""

    async def work(people: People) -> str:
        found = (await people.call("get_task", task_id=id))["task"]
        named = {"project_id": found["project_id"], "task_id": found["id"]}
        await people.call("delete_task", **named)
        return str(found["id"])

    gone, text = with_people(config, work), words("aipm_tasks", config)
    show({"id": gone}, as_json=as_json, human=lambda: say(text("cli.task_deleted", task=gone)))


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``aipm task``."""
    app.command("status")(move)
    for command in (edit, assign, unassign, depend, reopen, archive, delete):
        app.command(command.__name__)(command)


def _changed(config: Path | None, named: str, tool: str, **given: Any) -> Any:  # noqa: ANN401
    return with_people(config, lambda people: _change(people, named, tool, **given))


async def _change(people: People, named: str, tool: str, **given: Any) -> Any:  # noqa: ANN401
    found = (await people.call("get_task", task_id=named))["task"]
    about = {"project_id": found["project_id"], "task_id": found["id"]}
    return (await people.call(tool, **about, **given))["task"]
