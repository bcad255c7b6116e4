"""``aipm notify``."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from aipm_core.commands import AsJson, Config, say, show, with_service

if TYPE_CHECKING:
    from aipm_core import ServiceKey
    from aipm_notifications.sender import Sender


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
    data = with_service(
        config,
        _sender,
        lambda sender, _: sender.send(
            agent,
            project,
            type=type.value,
            action=action.value if action else None,
            message=message,
            audience=audience.value if audience else None,
        ),
    )
    show(data, as_json=as_json, human=lambda: say(f"left {data['id']} for {agent}"))


def _sender() -> ServiceKey[Sender]:
    from aipm_notifications.sender import SENDER

    return SENDER
