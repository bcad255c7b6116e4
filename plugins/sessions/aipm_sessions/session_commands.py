"""``aipm session``: who is at work, and how a person ends a session."""

from __future__ import annotations

from typing import Annotated

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    People,
    call_tool,
    matching,
    say,
    short_ids,
    show,
    since,
    table,
    with_people,
    words,
)

_PACKAGE = "aipm_sessions"
session = typer.Typer(help="Sessions of agents.", rich_markup_mode=None, no_args_is_help=True)


@session.command("list")
def list_sessions(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions that have not ended."""
    rows = call_tool(config, "list_sessions", project_id=project)["sessions"]
    text, short = words(_PACKAGE, config), short_ids(r["id"] for r in rows)
    names = ("session", "agent", "project", "purpose", "seen", "state")
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            [text(f"cli.heads.{name}") for name in names],
            (
                (
                    *(short[r["id"]], r["agent_id"], r["project_id"], r["purpose"]),
                    *(since(r["last_seen"]), text("cli.states.silent") if r["silent"] else ""),
                )
                for r in rows
            ),
            empty=text("cli.no_session"),
        ),
    )


@session.command("end")
def end_session(
    id: Annotated[str, typer.Argument(metavar="SESSION", help="Its id, or the beginning of it.")],  # noqa: A002
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """End a session now: its agent is told so at its next call, and its task waits again."""

    async def work(people: People) -> str:
        rows = (await people.call("list_sessions"))["sessions"]
        found = matching(rows, id, "session")
        named = {"project_id": found["project_id"], "session_id": found["id"]}
        await people.call("end_session", **named)
        return str(found["id"])

    ended, text = with_people(config, work), words(_PACKAGE, config)
    line = text("cli.session_ended", session=ended)
    show({"id": ended}, as_json=as_json, human=lambda: say(line))
