"""``aipm notify``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from aipm_cli.api import AsJson, Config, call_tool, say, show, words


class Type(StrEnum):
    """How urgent it is."""

    interrupt = "interrupt"
    message = "message"


class Action(StrEnum):
    """What the agent is to do."""

    cancel = "cancel"
    pause = "pause"
    blocked = "blocked"
    resume = "resume"


class Audience(StrEnum):
    """Which of the agent's sessions is meant."""

    task = "task"
    chat = "chat"


def notify(
    agent: Annotated[str, typer.Argument(help="Whom to notify.")],
    project: Annotated[str, typer.Option(help="The project it works on.")],
    type: Annotated[Type, typer.Option(help="An interrupt stops it at once.")],  # noqa: A002
    action: Annotated[
        Action | None, typer.Option(help="Stop, wait, or (with a message) go on.")
    ] = None,
    message: Annotated[str | None, typer.Option(help="What to say.")] = None,
    audience: Annotated[
        Audience | None,
        typer.Option(help="Only this kind of session; default: whichever asks first."),
    ] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Tell an agent something, or stop it."""
    data = call_tool(
        config,
        "notify",
        agent_id=agent,
        project_id=project,
        type=type.value,
        action=action.value if action else None,
        message=message,
        audience=audience.value if audience else None,
    )
    told = words("aipm_notifications", config)("cli.left", notification=data["id"], agent=agent)
    show(data, as_json=as_json, human=lambda: say(told))
