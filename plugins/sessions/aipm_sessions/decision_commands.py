"""``aipm inbox``, ``aipm approve`` and ``aipm deny``: what waits for a person."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from aipm_cli.api import AsJson, Config, People, call_tool, matching, say, show, with_people, words

_PACKAGE = "aipm_sessions"
inbox = typer.Typer(
    help="What waits for a person's answer.", rich_markup_mode=None, invoke_without_command=True
)


class Scope(StrEnum):
    """For how long a yes holds."""

    once = "once"
    session = "session"
    always = "always"


ItemId = Annotated[
    str, typer.Argument(metavar="ID", help="See `aipm inbox`; the beginning is enough.")
]
Reason = Annotated[str | None, typer.Option(help="Why; it is on record.")]
Note = Annotated[str | None, typer.Option(help="A note that the agent gets.")]


@inbox.callback()
def read_inbox(
    ctx: typer.Context,
    project: Annotated[str | None, typer.Option(help="Only of one project.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Keep it on the screen, live.")] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """List what waits for a person's yes or no."""
    if ctx.invoked_subcommand is not None:
        return
    from aipm_sessions.inbox_screen import inbox_lines, watched

    if watch:
        if as_json:
            raise typer.BadParameter("--watch is for people, --json for machines")
        watched(config, project)
        return
    rows = call_tool(config, "read_inbox", project_id=project)["items"]
    text = words(_PACKAGE, config)

    def human() -> None:
        for line in inbox_lines(rows, text):
            say(line)

    show(rows, as_json=as_json, human=human)


@inbox.command("snooze")
def snooze(
    id: ItemId,  # noqa: A002
    until: Annotated[str, typer.Option(help="A moment, or for how long: 30m, 2h, 1d.")] = "1h",
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Put an item of your inbox off; it stays there, and says until when."""
    from aipm_sessions.inbox_screen import moment

    when = moment(until)

    async def work(people: People) -> Any:  # noqa: ANN401
        item = await _item(people, id)
        named = {"project_id": item["project_id"], "item_id": item["id"]}
        return await people.call("snooze_item", **named, until=when)

    data = {"id": with_people(config, work)["item_id"], "until": when}
    _tell(config, "snoozed", data, as_json=as_json)


@inbox.command("hand-over")
def hand_over(
    id: ItemId,  # noqa: A002
    to: Annotated[str, typer.Argument(metavar="PERSON", help="Another person of the project.")],
    note: Annotated[str | None, typer.Option(help="A note to that person.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Leave an item of your inbox to another person."""

    async def work(people: People) -> Any:  # noqa: ANN401
        item = await _item(people, id)
        named = {"project_id": item["project_id"], "item_id": item["id"]}
        return await people.call("hand_over_item", **named, to=to, note=note)

    data = {"id": with_people(config, work)["item_id"], "to": to}
    _tell(config, "handed_over", data, as_json=as_json)


def approve(
    id: ItemId,  # noqa: A002
    reason: Reason = None,
    note: Note = None,
    scope: Annotated[Scope, typer.Option(help="For how long the yes holds.")] = Scope.once,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say yes to something in the inbox."""
    given = {"approved": True, "reason": reason, "note": note, "scope": scope.value}
    _answer(config, id, "approved", given, as_json=as_json)


def deny(
    id: ItemId,  # noqa: A002
    reason: Reason = None,
    note: Note = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say no to something in the inbox."""
    given = {"approved": False, "reason": reason, "note": note}
    _answer(config, id, "denied", given, as_json=as_json)


def _answer(
    config: Path | None, item_id: str, key: str, given: dict[str, Any], *, as_json: bool
) -> None:
    async def work(people: People) -> Any:  # noqa: ANN401
        waiting = (await people.call("read_inbox"))["items"]
        begun = [item for item in waiting if item["id"].startswith(item_id)]
        # What waits no longer is not listed; whoever asked can still say what became of it.
        named = matching(waiting, item_id, "decision")["id"] if begun else item_id
        return await people.call("answer_item", item_id=named, **given)

    answered = with_people(config, work)
    data = {"id": answered["item_id"], "approved": answered["approved"]}
    _tell(config, key, data, as_json=as_json)


def _tell(config: Path | None, key: str, data: dict[str, Any], *, as_json: bool) -> None:
    line = words(_PACKAGE, config)(f"cli.{key}", **data)
    show(data, as_json=as_json, human=lambda: say(line))


async def _item(people: People, item_id: str) -> Any:  # noqa: ANN401
    waiting = (await people.call("read_inbox"))["items"]
    return matching(waiting, item_id, "item")
