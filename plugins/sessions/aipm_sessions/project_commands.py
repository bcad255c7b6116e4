"""``aipm project``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, call_tool, say, show, table, target, words

_PACKAGE = "aipm_sessions"
project = typer.Typer(help="Projects agents work on.", rich_markup_mode=None, no_args_is_help=True)
ProjectId = Annotated[str, typer.Argument(metavar="PROJECT", help="A project's id.")]


@project.command("add")
def add_project(
    id: Annotated[str, typer.Argument(metavar="ID", help="a-z, 0-9, '-' and '_'.")],  # noqa: A002
    directory: Annotated[
        Path | None, typer.Option("--dir", help="Working directory; chat files go there.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name to show.")] = None,
    pool: Annotated[
        bool, typer.Option("--pool", help="Workers take tasks that are nobody's.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Add a project."""
    place = _on_the_server(directory)
    data = call_tool(config, "create_project", id=id, name=name, directory=place, pool=pool)[
        "project"
    ]
    text = words(_PACKAGE, config)
    show(data, as_json=as_json, human=lambda: say(text("cli.project_added", project=id)))


@project.command("list")
def list_projects(
    everything: Annotated[bool, typer.Option("--all", help="Archived ones too.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List projects."""
    rows = call_tool(config, "list_projects", archived=everything)["projects"]
    text = words(_PACKAGE, config)
    heads = [text(f"cli.heads.{name}") for name in ("project", "name", "state", "directory")]
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            heads,
            ((r["id"], r["name"], _state(r, text), r["directory"]) for r in rows),
            empty=text("cli.no_project"),
        ),
    )


@project.command("edit")
def edit_project(
    id: ProjectId,  # noqa: A002
    name: Annotated[str | None, typer.Option(help="Name to show.")] = None,
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Move it there; its chat files are written there, all of them."),
    ] = None,
    pool: Annotated[
        bool | None,
        typer.Option("--pool/--no-pool", help="Whether workers take tasks that are nobody's."),
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Change the name of a project, its pool, or the directory it works in."""
    place = _on_the_server(directory)
    given = {"project_id": id, "name": name, "directory": place, "pool": pool}
    data = call_tool(config, "edit_project", **given)["project"]
    text = words(_PACKAGE, config)
    show(data, as_json=as_json, human=lambda: say(text("cli.changed", name=id)))


@project.command("pause")
def pause_project(id: ProjectId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Stop all agents of a project at their next call, and start none."""
    _set_paused(id, config, as_json=as_json, paused=True)


@project.command("resume")
def resume_project(id: ProjectId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Let the agents of a paused project go on."""
    _set_paused(id, config, as_json=as_json, paused=False)


@project.command("archive")
def archive_project(
    id: ProjectId,  # noqa: A002
    undo: Annotated[bool, typer.Option("--undo", help="Bring it back.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Pause a project and leave it out of lists; `--undo` brings it back."""
    data = call_tool(config, "archive_project", project_id=id, archived=not undo)["project"]
    key = "cli.project_unarchived" if undo else "cli.project_archived"
    text = words(_PACKAGE, config)
    show(data, as_json=as_json, human=lambda: say(text(key, project=id)))


@project.command("delete")
def delete_project(id: ProjectId, config: Config = None, as_json: AsJson = False) -> None:  # noqa: A002
    """Take an archived project out of everybody's sight, for good."""
    call_tool(config, "delete_project", project_id=id)
    text = words(_PACKAGE, config)
    show({"id": id}, as_json=as_json, human=lambda: say(text("cli.project_deleted", project=id)))


def _set_paused(project_id: str, config: Path | None, *, as_json: bool, paused: bool) -> None:
    tool = "pause_project" if paused else "resume_project"
    changed = call_tool(config, tool, project_id=project_id)["changed"]
    text = words(_PACKAGE, config)
    key = f"cli.project_{'paused' if paused else 'resumed'}{'' if changed else '_before'}"
    data = {"id": project_id, "paused": paused, "changed": changed}
    show(data, as_json=as_json, human=lambda: say(text(key, project=project_id)))


def _on_the_server(directory: Path | None) -> str | None:
    """Return a path as the server knows it; what is relative is so to where the command runs."""
    if directory is None:
        return None
    return str(directory if target().server else directory.absolute())


def _state(row: dict[str, Any], text: Any) -> str:  # noqa: ANN401
    for name in ("archived", "paused"):
        if row[name]:
            return str(text(f"cli.states.{name}"))
    return ""
