"""``aipm mcp``, and ``aipm mcp-config``: what to write into an agent program's settings."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    PluginDir,
    check_local,
    load_settings,
    say,
    settings_file,
    show,
    target,
    use_plugin_directory,
)

if TYPE_CHECKING:
    from aipm_cli.settings import Settings


class Client(StrEnum):
    """Agent programs whose settings we know."""

    claude = "claude"
    codex = "codex"
    gemini = "gemini"
    opencode = "opencode"
    cursor = "cursor"
    vscode = "vscode"


def mcp(
    plugin_dir: PluginDir = None,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token of an agent.")
    ] = None,
    config: Config = None,
) -> None:
    """Serve one agent over stdio (MCP); started by the agent's own program."""
    from aipm_mcp_transport.stdio_command import serve

    check_local(strict=False)
    use_plugin_directory(plugin_dir)

    serve(config, token_file)


def mcp_config(
    client: Annotated[Client, typer.Option(help="The agent's program.")],
    http: Annotated[
        bool, typer.Option("--http", help="Connect to a running `aipm up` instead of stdio.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Print the snippet that an agent's program needs to find aipm."""
    from dataclasses import asdict

    from aipm_mcp_transport.snippets import Target, snippet_for

    if (server := target().server) is not None:
        where = Target(program(), (), f"{server.rstrip('/')}/mcp")
    else:
        file = settings_file(config).resolve()
        url = address(load_settings(file)) if http else None
        where = Target(program(), ("mcp", "--config", str(file)), url)
    made = snippet_for(client.value, where)
    show(asdict(made), as_json=as_json, human=lambda: say(made.snippet))
    if not as_json:
        sys.stderr.write(f"aipm: this goes into {made.file}\n")


def address(settings: Settings) -> str:
    """Return where agents reach the server of these settings."""
    from aipm_http_server.api import ServerSettings

    from aipm_core import ConfigError

    server = settings.section(ServerSettings)
    if server.behind_tls_proxy and server.allowed_hosts:
        return f"https://{server.allowed_hosts[0]}/mcp"
    if server.port == 0:
        raise ConfigError("[server] port = 0 is another port at every start; set a fixed one")
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"http://{host}:{server.port}/mcp"


def program() -> str:
    """Return the installed program that is running now."""
    beside: Path = Path(sys.executable).absolute().with_name("aipm")
    return str(beside if beside.is_file() else Path(sys.argv[0]).absolute())
