"""``aipm say``, ``aipm broadcast``, ``aipm withdraw`` and ``aipm messages``."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    People,
    call_tool,
    json_line,
    local_time,
    say,
    show,
    with_people,
    words,
    wrapped,
)

_PACKAGE = "aipm_file_chat"
_LOOK_SECONDS = 1.0
AgentId = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id.")]
ProjectId = Annotated[str, typer.Option("--project", help="The project's id.")]


def say_(
    agent_id: AgentId,
    text: Annotated[str, typer.Argument(help="What to say.")],
    project_id: ProjectId,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Send your chat message to an agent; `--as` says who you are."""
    sent = call_tool(config, "say", project_id=project_id, agent_id=agent_id, content=text)
    sent, line = sent["message"], words(_PACKAGE, config)
    told = line("cli.sent", message=sent["id"], agent=agent_id)
    show(sent, as_json=as_json, human=lambda: say(told))


def broadcast(
    text: Annotated[str, typer.Argument(help="What to say.")],
    project_id: ProjectId,
    to: Annotated[
        list[str] | None,
        typer.Option(help="Only to this agent; may be given again [default: everybody else]."),
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Send one chat message to several of a project: to all of them or to none."""
    about = {"project_id": project_id, "content": text}
    sent = call_tool(config, "broadcast", **about, target_agent_ids=to or None)
    told = words(_PACKAGE, config)("cli.broadcast", agents=", ".join(sent["target_agent_ids"]))
    show(sent, as_json=as_json, human=lambda: say(told))


def withdraw(
    message_id: Annotated[str, typer.Argument(metavar="MESSAGE", help="The message's id.")],
    project_id: ProjectId,
    instead: Annotated[str | None, typer.Option(help="What to say instead.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Take back or replace a message of yours that nobody has been given yet."""
    named = {"project_id": project_id, "message_id": message_id}
    text = words(_PACKAGE, config)
    if instead is None:
        done = call_tool(config, "withdraw_message", **named)
        told = text("cli.withdrawn", message=message_id)
    else:
        done = call_tool(config, "edit_message", **named, content=instead)
        told = text("cli.replaced", message=message_id, other=done["message_id"])
    show(done["message"], as_json=as_json, human=lambda: say(told))


def messages(
    agent_id: AgentId,
    project_id: ProjectId,
    search: Annotated[str | None, typer.Option(help="Only messages with this text.")] = None,
    after: Annotated[int, typer.Option(help="Only messages behind this number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with those that come, until Ctrl-C.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show what an agent sent and received, and what has been read."""
    named = {"project_id": project_id, "agent_id": agent_id}
    if follow:
        if search is not None:
            raise typer.BadParameter("--search looks back, --follow waits for what comes")
        with suppress(KeyboardInterrupt):
            with_people(config, lambda people: _follow(people, named, after, config, as_json))
        return
    if search is not None:
        found = call_tool(config, "search_messages", **named, text=search, limit=limit)
        found = {"messages": found["messages"], "next": None, "has_more": False}
    else:
        found = call_tool(config, "read_messages", **named, after=after, limit=limit)
    line = words(_PACKAGE, config)

    def human() -> None:
        _print(found["messages"], line)
        if not found["messages"]:
            say(line("cli.no_messages"))
        elif found["has_more"]:
            say(line("cli.more_messages", next=found["next"]))

    show(found, as_json=as_json, human=human)


async def _follow(
    people: People,
    named: dict[str, str],
    after: int,
    config: Path | None,
    as_json: bool,
) -> None:
    line = words(_PACKAGE, config)
    while True:
        page = await people.call("read_messages", **named, after=after, limit=200)
        after = page["next"]
        if as_json:
            for message in page["messages"]:
                typer.echo(json_line(message))
        else:
            _print(page["messages"], line)
        if not page["has_more"]:
            await people.wait(_LOOK_SECONDS)


def _print(found: Iterable[dict[str, Any]], line: Any) -> None:  # noqa: ANN401
    for message in found:
        state = line("cli.read" if message["readAt"] else "cli.unread")
        state = line("cli.taken_back") if "withdrawnAt" in message else state
        way = f"{message['senderId']} → {message['receiverId']}"
        say(f"{message['seq']}  {local_time(message['createdAt'])}  {way}  [{state}]")
        for part in message["content"].split("\n"):
            for row in wrapped(f"    {part}", indent=4):
                say(row)
