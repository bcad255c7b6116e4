"""``aipm task``: what people look up and make; changes are in ``change_commands``."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, People, call_tool, show, with_people, words

from aipm_tasks.change_commands import add_to
from aipm_tasks.command_options import Priority, Status, TaskId, task_id, tell

_PACKAGE = "aipm_tasks"
task = typer.Typer(help="Tasks agents work on.", rich_markup_mode=None, no_args_is_help=True)


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
    """Add a task; agents are offered those in todo, and what is in backlog waits for that."""
    if not title.strip():
        raise typer.BadParameter("a task needs a title", param_hint="--title")

    async def work(people: People) -> Any:  # noqa: ANN401
        named = [await task_id(people, each) for each in depends_on or ()]
        made = await people.call(
            "create_task",
            project_id=project,
            title=title,
            description=description,
            priority=priority.value,
            status=status.value,
            assignee_id=assignee,
            parent_task_id=await task_id(people, parent) if parent else None,
            dependencies=named,
        )
        return made["task"]

    made = with_people(config, work)
    key = "task_waits" if made["status"] == "backlog" and made["assignee_id"] else "task_added"
    tell(config, key, made, as_json=as_json)


@task.command("list")
def list_tasks(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    status: Annotated[Status | None, typer.Option(help="Only with this status.")] = None,
    assignee: Annotated[str | None, typer.Option(help="Only of one agent.")] = None,
    archived: Annotated[bool, typer.Option("--all", help="Archived ones too.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many.")] = 1000,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List tasks in the order they were added."""
    from aipm_tasks.task_screen import print_list

    found = call_tool(
        config,
        "list_tasks",
        project_id=project,
        status=status.value if status else None,
        assignee_id=assignee,
        archived=archived,
        limit=limit,
    )
    rows, text = found["tasks"], words(_PACKAGE, config)
    more, one = found["has_more"], project is not None
    show(rows, as_json=as_json, human=lambda: print_list(rows, text, more=more, one_project=one))


@task.command("show")
def show_task(id: TaskId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Show a task and what happened to it."""
    from aipm_tasks.task_screen import print_task

    found, text = call_tool(config, "get_task", task_id=id), words(_PACKAGE, config)
    show(found["task"], as_json=as_json, human=lambda: print_task(found, text))


@task.command("history")
def history(id: TaskId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """List what happened to a task, and who did it."""
    from aipm_tasks.task_screen import print_history

    past, text = call_tool(config, "get_task", task_id=id)["history"], words(_PACKAGE, config)
    show(past, as_json=as_json, human=lambda: print_history(past, text))


add_to(task)
