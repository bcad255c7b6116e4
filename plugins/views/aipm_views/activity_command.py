"""``aipm activity``: who did what lately, and which tools were called with what outcome."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    People,
    json_line,
    local_time,
    say,
    show,
    with_people,
    words,
    wrapped,
)

if TYPE_CHECKING:
    from aipm_core import Texts

_SECONDS = 1.0
_FIELDS = ("id", "at", "project_id", "actor_id", "verb", "what", "tool", "outcome", "from", "to")


def activity(
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until you end it, line by line.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many of the newest.")] = 30,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show who did what lately: changes, sessions, questions, and decisions about tool calls."""
    text = words("aipm_views", config)
    if follow:
        with suppress(KeyboardInterrupt):  # the way a person ends it
            with_people(config, lambda people: _follow(people, project, limit, text, as_json))
        return
    rows = with_people(config, lambda people: _look(people, project, limit))

    def human() -> None:
        for row in rows:
            _print(row, text)
        if not rows:
            say(text("cli.no_activity"))

    show(rows, as_json=as_json, human=human)


async def _follow(
    people: People, project: str | None, limit: int, text: Texts, as_json: bool
) -> None:
    import sys

    seen: set[str] = set()
    while True:
        for row in await _look(people, project, limit if not seen else 200):
            if row["id"] not in seen:
                seen.add(row["id"])
                say(json_line(row)) if as_json else _print(row, text)
        sys.stdout.flush()
        await people.wait(_SECONDS)


async def _look(people: People, project: str | None, limit: int) -> list[dict[str, Any]]:
    told = await people.call("read_activity", project_id=project, limit=limit)
    rows = [{**dict.fromkeys(_FIELDS), **row} for row in told["activity"]]
    rows += await _decisions(people, project, limit)
    return sorted(rows, key=lambda row: (row["at"], row["id"]))[-limit:]


async def _decisions(people: People, project: str | None, limit: int) -> list[dict[str, Any]]:
    """Return decisions about calls, for those who may read the audit trail."""
    from aipm_core import CallError, ConfigError

    try:
        told = await people.call("list_audit", project_id=project, limit=limit)
    except ConfigError:  # the plugin that decides is off
        return []
    except CallError as error:
        if error.code != "manager_required":
            raise
        return []
    return [_call(entry) for entry in told["entries"]]


def _call(entry: dict[str, Any]) -> dict[str, Any]:
    about = {"id": f"call-{entry['seq']}", "at": entry["at"], "project_id": entry["project_id"]}
    done = {"verb": "tool.called", "tool": entry["tool"], "outcome": entry["outcome"]}
    return {**dict.fromkeys(_FIELDS), **about, "actor_id": entry["agent_id"], **done}


def _print(row: dict[str, Any], text: Texts) -> None:
    if row["tool"]:
        said = f"{row['tool']}: {row['outcome']}"
    else:
        said = text.find(f"cli.verbs.{row['verb'].replace('.', '_')}") or row["verb"]
        said += f"  {row['what']}" if row["what"] else ""
        said += f"  {row['from'] or '-'} → {row['to']}" if row["to"] else ""
    head = f"{local_time(row['at']):<8}  {row['actor_id'] or '-':<12}  "
    for line in wrapped(f"{head}{row['project_id'] or '-'}  {said}", indent=len(head)):
        say(line)
