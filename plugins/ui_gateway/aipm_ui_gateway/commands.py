"""``aipm announce`` and ``aipm chat``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from aipm_core.commands import AsJson, Config, say, show, with_service

if TYPE_CHECKING:
    from aipm_core import ServiceKey


def announce(
    text: Annotated[str, typer.Argument(help="What everybody should read.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Tell something to every connected user interface."""
    from aipm_core import CallError
    from aipm_ui_gateway.api import system_message

    if not text.strip():
        raise CallError("there is nothing to announce", code="content_empty", status=400)
    event = system_message(text)
    with_service(config, _sessions, lambda _, runtime: runtime.events.publish(event))
    show({"content": text}, as_json=as_json, human=lambda: say("announced"))


def _sessions() -> ServiceKey[Any]:
    from aipm_ui_gateway.api import UI_SESSIONS

    return UI_SESSIONS


def chat() -> None:
    """Talk."""
