"""``aipm up``: the server."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from aipm_core.commands import AsJson, Config, say


def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes any free one.")] = None,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, help="Tell more on stderr; -vv also tells every call."
        ),
    ] = 0,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Start the server: MCP for agents, events and commands for people."""
    import anyio

    from aipm_core import config as settings_file
    from aipm_core import logs
    from aipm_core.runtime import open_runtime
    from aipm_core.server.guard import check_bind
    from aipm_core.server.serving import serve, stop_signals

    settings = settings_file.load(config)
    given = {k: v for k, v in {"host": host, "port": port}.items() if v is not None}
    server = settings_file.checked(
        settings_file.ServerSettings, {**settings.server.model_dump(), **given}, "--host/--port"
    )
    check_bind(server)
    level = settings.log.level if not verbose else "info" if verbose == 1 else "debug"
    logs.to_stderr(level, settings.log.format)

    async def run() -> None:
        with stop_signals() as signals:
            async with open_runtime(settings) as runtime:
                await serve(runtime, server, lambda url: _ready(url, as_json=as_json), signals)

    anyio.run(run, backend_options={"use_uvloop": sys.platform != "win32"})


def _ready(url: str, *, as_json: bool) -> None:
    socket = url.replace("http", "ws", 1) + "/ws"
    if as_json:
        import json

        line = {"event": "ready", "url": url, "mcp": f"{url}/mcp", "ws": socket}
        sys.stdout.write(json.dumps(line) + "\n")
    else:
        say(f"aipm is up at {url}")
        say(f"  agents   {url}/mcp   (`aipm mcp-config --client claude` prints the snippet)")
        say(f"  people   {socket}")
        say("  stop     Ctrl-C")
    sys.stdout.flush()
