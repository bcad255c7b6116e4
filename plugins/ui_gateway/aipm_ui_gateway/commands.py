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


def chat(  # nosec B107
    agent_id: Annotated[str, typer.Argument(metavar="AGENT", help="The agent to talk to.")],
    project_id: Annotated[str, typer.Option("--project", help="A project of both of you.")],
    token_env: Annotated[
        str, typer.Option(help="Environment variable that holds your token.")
    ] = "AIPM_UI_TOKEN",  # noqa: S107 - the name of a variable
    url: Annotated[str | None, typer.Option(help="The server [default: that of --config].")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Talk to an agent, and answer when it asks whether a tool may run."""
    import os

    import anyio

    from aipm_core import ConfigError, logs
    from aipm_ui_gateway.chatting import Wanted
    from aipm_ui_gateway.chatting import chat as talk

    token = os.environ.get(token_env, "").strip()
    if not token:
        raise ConfigError(
            f"{token_env} is not set: put the token of `aipm token create --agent YOU` into it"
        )
    logs.to_stderr()
    wanted = Wanted(
        url=_socket(url, config),
        token=token,
        project_id=project_id,
        agent_id=agent_id,
        as_json=as_json,
    )
    anyio.run(talk, wanted)


def _socket(url: str | None, config: Config) -> str:
    from aipm_core import ConfigError
    from aipm_core.config import load

    if url is None:
        server = load(config).server
        host = f"[{server.host}]" if ":" in server.host else server.host
        url = f"http://{host}:{server.port}"
    scheme, _, rest = url.partition("://")
    schemes = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
    if scheme not in schemes or not rest:
        raise ConfigError(f"--url {url!r} is not an address such as http://127.0.0.1:8137")
    return f"{schemes[scheme]}://{rest.removesuffix('/').removesuffix('/ws')}/ws"
