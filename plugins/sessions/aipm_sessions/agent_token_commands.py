"""``aipm agent token|tokens|revoke``: what an agent's program keeps to open its sessions."""

from __future__ import annotations

from enum import StrEnum
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

from aipm_sessions.shown import print_secret

_PACKAGE = "aipm_sessions"
_HEADS = ("token", "purpose", "made", "ends", "used", "state")
AgentId = Annotated[str, typer.Argument(metavar="AGENT", help="An agent.")]
ProjectId = Annotated[str, typer.Option("--project", help="The project's id.")]


class Purpose(StrEnum):
    """What a session is for."""

    task = "task"
    chat = "chat"


def create(
    agent_id: AgentId,
    project: ProjectId,
    purpose: Annotated[Purpose, typer.Option(help="What its sessions are for.")] = Purpose.task,
    days: Annotated[float, typer.Option(help="Days until it ends.")] = 90,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make a token that opens an agent's sessions, so that no passkey passes through a model."""
    named = {"agent_id": agent_id, "project_id": project}
    data = call_tool(config, "create_agent_token", **named, purpose=purpose.value, days=days)
    text = words(_PACKAGE, config)
    title = text("cli.agent_token_made", token=data["id"], agent=agent_id, project=project)
    show(data, as_json=as_json, human=lambda: print_secret(title, "token", data["token"], text))


def list_tokens(
    agent_id: AgentId, project: ProjectId, config: Config = None, as_json: AsJson = False
) -> None:
    """List an agent's tokens, without their secrets."""
    named = {"agent_id": agent_id, "project_id": project}
    rows = call_tool(config, "list_agent_tokens", **named)["tokens"]
    text, short = words(_PACKAGE, config), short_ids(r["id"] for r in rows)
    show(
        rows,
        as_json=as_json,
        human=lambda: table(
            [text(f"cli.heads.{name}") for name in _HEADS],
            (
                (
                    *(short[r["id"]], r["purpose"], since(r["created_at"])),
                    *(since(r["expires_at"]), since(r["used_at"])),
                    text(f"cli.states.{r['state']}"),
                )
                for r in rows
            ),
            empty=text("cli.no_agent_token"),
        ),
    )


def revoke(
    agent_id: AgentId,
    id: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id, or the beginning of it.")],  # noqa: A002
    project: ProjectId,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Make an agent's token worthless, and end the session it has opened."""

    async def work(people: People) -> str:
        named = {"agent_id": agent_id, "project_id": project}
        rows = (await people.call("list_agent_tokens", **named))["tokens"]
        found = str(matching(rows, id, "token")["id"])
        await people.call("revoke_agent_token", project_id=project, token_id=found)
        return found

    gone, text = with_people(config, work), words(_PACKAGE, config)
    line = text("cli.agent_token_revoked", token=gone)
    show({"id": gone}, as_json=as_json, human=lambda: say(line))


def add_to(agent: typer.Typer) -> None:
    """Add these commands to ``aipm agent``."""
    agent.command("token")(create)
    agent.command("tokens")(list_tokens)
    agent.command("revoke")(revoke)
