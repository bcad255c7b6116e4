"""``aipm status``: who is there, what they do, and what waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    People,
    clean,
    console,
    say,
    show,
    since,
    table_lines,
    with_people,
    words,
)

if TYPE_CHECKING:
    from aipm_core import Texts

_REFRESH_SECONDS = 1.0
_HEADS = ("agent", "project", "session", "seen", "task", "unread")


def status(
    project: Annotated[str | None, typer.Option(help="Only one project.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep it on the screen, live.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show agents, their sessions and tasks, and what waits for whom."""
    text = words("aipm_tasks", config)
    if watch:
        if as_json:
            raise typer.BadParameter("--watch is for people, --json for machines")
        with suppress(KeyboardInterrupt):  # the way a person ends it
            with_people(config, lambda people: _watch(people, project, text))
        return
    found = with_people(config, lambda people: _look(people, project))

    def human() -> None:
        for line in _lines(found, text):
            say(line)

    show(found, as_json=as_json, human=human)


async def _look(people: People, project: str | None) -> dict[str, Any]:
    from aipm_core import ConfigError

    found: dict[str, Any] = dict(await people.call("get_status", project_id=project))
    try:
        waiting = (await people.call("read_inbox", project_id=project))["items"]
    except ConfigError:  # the plugin that keeps inboxes is off
        waiting = []
    return {**found, "waiting": len(waiting)}


async def _watch(people: People, project: str | None, text: Texts) -> None:
    from rich.live import Live
    from rich.text import Text

    with Live(console=console(), auto_refresh=False, screen=False) as live:
        while True:
            lines = [*_lines(await _look(people, project), text), "", text("cli.watching")]
            live.update(Text("\n".join(clean(line) for line in lines)), refresh=True)
            await people.wait(_REFRESH_SECONDS)


def _lines(found: dict[str, Any], text: Texts) -> Iterator[str]:
    if not found["agents"]:
        yield text("cli.nobody")
        return
    rows = [row for line in found["agents"] for row in _rows(line, text)]
    yield from table_lines([text(f"cli.heads.{name}") for name in _HEADS], rows)
    yield ""
    for project in found["projects"]:
        counts = [
            f"{text(f'cli.statuses.{name}')} {number}"
            for name, number in project["tasks"].items()
            if number
        ]
        state = f" ({text('cli.paused')})" if project["paused"] else ""
        yield f"{project['id']}{state}: {', '.join(counts) or text('cli.no_tasks')}"
    if found["waiting"]:
        yield text("cli.waiting", number=found["waiting"])


def _rows(line: dict[str, Any], text: Texts) -> Iterator[tuple[str, ...]]:
    """One row a session; an agent without one shows what waits for it."""
    human = f" ({text('cli.human')})" if line["type"] == "human" else ""
    name, unread = f"{line['agent_id']}{human}", str(line["unread"] or "")
    if not line["sessions"]:
        titles = ", ".join(task["title"] for task in line["tasks"])
        todo = text("cli.waiting_task", title=titles) if titles else ""
        if not titles and line["open_tasks"] and line["type"] == "ai":
            todo = text("cli.open_tasks", number=line["open_tasks"])
        yield name, line["project_id"], "-", "", todo, unread
    for place, session in enumerate(line["sessions"]):
        marks = [session["purpose"]]
        marks += [text("cli.stale")] if session["stale"] else []
        paused = line["paused"] and session["purpose"] == "task"
        marks += [text("cli.paused")] if paused else []
        first = place == 0
        yield (
            name if first else "",
            line["project_id"] if first else "",
            " ".join(marks),
            since(session["last_seen"]),
            _task(session, text),
            unread if first else "",
        )


def _task(session: dict[str, Any], text: Texts) -> str:
    title, state = session["task_title"] or "", session["task_status"]
    if state in (None, "in_progress"):
        return title
    return f"[{text(f'cli.statuses.{state}')}] {title}"
