"""``aipm say`` and ``aipm messages``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aipm_core.commands import AsJson, Config, say, show, with_service

if TYPE_CHECKING:
    from aipm_core import ServiceKey
    from aipm_file_chat.people import PeoplesChat

AgentId = Annotated[str, typer.Argument(help="The agent's id.")]
ProjectId = Annotated[str, typer.Option("--project", help="The project's id.")]


def say_(
    agent_id: AgentId,
    text: Annotated[str, typer.Argument(help="What to say.")],
    project_id: ProjectId,
    person_id: Annotated[str, typer.Option("--as", help="The person who says it.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Send a person's chat message to an agent."""
    sent = with_service(
        config, _chat, lambda chat, _: chat.say(person_id, project_id, agent_id, text)
    )
    show(sent, as_json=as_json, human=lambda: say(f"sent {sent['id']} to {agent_id}"))


def messages(
    agent_id: AgentId,
    project_id: ProjectId,
    search: Annotated[str | None, typer.Option(help="Only messages with this text.")] = None,
    after: Annotated[int, typer.Option(help="Only messages behind this number.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 50,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Show what an agent sent and received, and what has been read."""
    found = _found(config, project_id, agent_id, search=search, after=after, limit=limit)

    def human() -> None:
        for message in found["messages"]:
            _print(message)
        if not found["messages"]:
            say("no messages")
        elif found["has_more"]:
            say(f"more: --after {found['next']}")

    show(found, as_json=as_json, human=human)


def _found(
    config: Path | None,
    project_id: str,
    agent_id: str,
    *,
    search: str | None,
    after: int,
    limit: int,
) -> dict[str, Any]:
    async def look(chat: PeoplesChat, _: object) -> dict[str, Any]:
        if search is not None:
            messages = await chat.find(project_id, agent_id, search, limit=limit)
            return {"messages": messages, "next": None, "has_more": False}
        page = await chat.show(project_id, agent_id, after=after, limit=limit)
        return {"messages": page.messages, "next": page.next, "has_more": page.has_more}

    found: dict[str, Any] = with_service(config, _chat, look)
    return found


def _print(message: dict[str, Any]) -> None:
    state = "read" if message["readAt"] else "unread"
    way = f"{message['senderId']} ({message['senderKind']}) -> {message['receiverId']}"
    say(f"{message['seq']}  {message['createdAt']}  {way}  [{state}]")
    for line in message["content"].split("\n"):
        say(f"    {line}")


def _chat() -> ServiceKey[PeoplesChat]:
    from aipm_file_chat.plugin import PEOPLES_CHAT

    return PEOPLES_CHAT
