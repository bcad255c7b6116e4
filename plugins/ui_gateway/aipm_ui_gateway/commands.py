"""``aipm announce`` and ``aipm chat``."""

from __future__ import annotations

from typing import Annotated

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    call_tool,
    load_settings,
    log_to_stderr,
    say,
    show,
    target,
    words,
)


def announce(
    text: Annotated[str, typer.Argument(help="What everybody should read.")],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Tell something to every connected user interface."""
    data = call_tool(config, "announce", content=text)
    told = words("aipm_ui_gateway", config)("cli.announced")
    show(data, as_json=as_json, human=lambda: say(told))


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

    from aipm_core import ConfigError
    from aipm_ui_gateway.client.chat import ChatTarget
    from aipm_ui_gateway.client.chat import chat as talk

    token = os.environ.get(token_env, "").strip()
    if not token:
        raise ConfigError(
            f"{token_env} is not set: put the token of `aipm token create --agent YOU` into it"
        )
    log_to_stderr()
    wanted = ChatTarget(
        url=_socket(url, config),
        token=token,
        project_id=project_id,
        agent_id=agent_id,
        as_json=as_json,
    )
    anyio.run(talk, wanted)


def _socket(url: str | None, config: Config) -> str:
    from aipm_http_server.api import ServerSettings, find_running

    from aipm_core import ConfigError

    if url is None:
        url = target().server
    if url is None:
        settings = load_settings(config)
        server, running = settings.section(ServerSettings), find_running(settings.data_dir)
        host = f"[{server.host}]" if ":" in server.host else server.host
        url = running.url if running else f"http://{host}:{server.port}"
    scheme, _, rest = url.partition("://")
    schemes = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
    if scheme not in schemes or not rest:
        raise ConfigError(f"--url {url!r} is not an address such as http://127.0.0.1:8137")
    return f"{schemes[scheme]}://{rest.removesuffix('/').removesuffix('/ws')}/ws"
