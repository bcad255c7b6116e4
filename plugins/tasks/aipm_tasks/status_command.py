"""``aipm status``: who is there, and what they do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aipm_core.commands import AsJson, Config, clean, console, say, show, with_service

if TYPE_CHECKING:
    from rich.table import Table

    from aipm_core import ServiceKey
    from aipm_tasks.overview import Overview

_REFRESH = 5.0  # seconds; changes are shown at once, this is for the ages
_MINUTE, _HOUR = 60, 3600


def status(
    project: Annotated[str | None, typer.Option(help="Only one project.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep it on the screen, live.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show agents, their sessions and tasks, and what is unread."""
    if watch:
        if as_json:
            raise typer.BadParameter("--watch is for people, --json for machines")
        with suppress(KeyboardInterrupt):  # the way a person ends it
            with_service(config, _overview, lambda overview, _: _watch(overview, project))
        return
    lines = with_service(config, _overview, lambda overview, _: overview.look(project))

    def human() -> None:
        if lines:
            console().print(_table(lines))
        else:
            say("nobody is here yet; `aipm agent add ID --project P` adds an agent")

    show({"agents": lines}, as_json=as_json, human=human)


async def _watch(overview: Overview, project: str | None) -> None:
    from rich.live import Live

    with Live(console=console(), auto_refresh=False, screen=False) as live:
        while True:
            live.update(_table(await overview.look(project)), refresh=True)
            await overview.change(project, _REFRESH)


def _overview() -> ServiceKey[Overview]:
    from aipm_tasks.overview import OVERVIEW

    return OVERVIEW


def _table(lines: list[dict[str, Any]]) -> Table:
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, header_style="bold", show_edge=False)
    for column in ("agent", "project", "session", "seen", "task", "unread"):
        made.add_column(column, justify="right" if column == "unread" else "left")
    for line in lines:
        for row in _rows(line):
            made.add_row(*(clean(cell) for cell in row))
    return made


def _rows(line: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """One row a session; an agent without one shows what waits for it."""
    name = f"{line['agent_id']}{' (human)' if line['type'] == 'human' else ''}"
    unread = str(line["unread"] or "")
    if not line["sessions"]:
        titles = ", ".join(task["title"] for task in line["tasks"])
        yield name, line["project_id"], "-", "", f"waiting: {titles}" if titles else "", unread
    for place, session in enumerate(line["sessions"]):
        marks = [session["purpose"]]
        marks += ["stale"] if session["stale"] else []
        marks += ["paused"] if line["paused"] and session["purpose"] == "task" else []
        first = place == 0
        yield (
            name if first else "",
            line["project_id"] if first else "",
            " ".join(marks),
            _age(session["idle_seconds"]),
            session["task_title"] or "",
            unread if first else "",
        )


def _age(seconds: int) -> str:
    if seconds < _MINUTE:
        return f"{seconds} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE} min"
    return f"{seconds // _HOUR} h"
