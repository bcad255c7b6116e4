"""``aipm up``: the server."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from aipm_cli.api import AsJson, Config, PluginDir, load_settings, say, use_plugin_directory

if TYPE_CHECKING:
    import signal
    from collections.abc import AsyncIterator
    from typing import TextIO

    from aipm_cli.settings import Settings

    from aipm_core.host import Runtime


def up(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes any free one.")] = None,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose", "-v", count=True, help="Tell more on stderr; -vv also tells every call."
        ),
    ] = 0,
    background: Annotated[
        bool, typer.Option("--detach", "-d", help="In the background; see `down` and `logs`.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End calls that hold up everybody for half a second.")
    ] = False,
    plugin_dir: PluginDir = None,
    reload: Annotated[
        bool, typer.Option("--reload", help="Start again when a plugin or the settings change.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Start the server: MCP for agents, events and commands for people."""
    from contextlib import nullcontext, redirect_stdout

    import anyio

    use_plugin_directory(plugin_dir)
    if background or reload:
        options = _options(host, port, verbose, strict=strict)
        _start_elsewhere(config, options, reload=reload, as_json=as_json)
        return

    settings = _listening_at(load_settings(config, verbose), host, port)
    if strict:
        settings = _strict(settings)
    loop = {"use_uvloop": sys.platform != "win32"}
    out = sys.stdout
    # Machines read there: what a plugin prints goes where people look.
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        anyio.run(_run, settings, out if as_json else None, backend_options=loop)


def _options(host: str | None, port: int | None, verbose: int, *, strict: bool) -> list[str]:
    options = ["--verbose"] * verbose + ["--strict"] * strict
    options += ["--host", host] if host is not None else []
    return options + (["--port", str(port)] if port is not None else [])


def _start_elsewhere(config: Config, options: list[str], *, reload: bool, as_json: bool) -> None:
    """Serve in a process of its own: in the background, or started again when something changes."""
    if not reload:
        from aipm_http_server.background_commands import start_in_background

        start_in_background(config, options, as_json=as_json)
        return
    from aipm_cli.sources import sources_of

    from aipm_http_server.reloading import run_reloading

    options += ["--config", str(config)] if config is not None else []
    code = run_reloading(options + ["--json"] * as_json, lambda: sources_of(config))
    raise typer.Exit(code)


def _strict(settings: Settings) -> Settings:
    from aipm_operations.api import TelemetrySettings

    watching = settings.section(TelemetrySettings).model_copy(update={"strict": True})
    return settings.model_copy(update={"telemetry": watching})


def _listening_at(settings: Settings, host: str | None, port: int | None) -> Settings:
    """Put the address of the command line into the settings."""
    from aipm_cli.table_check import checked

    from aipm_http_server.guard import check_bind
    from aipm_http_server.settings import ServerSettings

    given = {k: v for k, v in {"host": host, "port": port}.items() if v is not None}
    table = settings.section(ServerSettings).model_dump()
    server = checked(ServerSettings, {**table, **given}, "--host/--port")
    check_bind(server)
    return settings.model_copy(update={"server": server})


async def _run(settings: Settings, machine: TextIO | None) -> None:
    import anyio
    from aipm_cli.program import open_runtime

    from aipm_core import ConfigError, ServeMode
    from aipm_http_server.api import HTTP_SERVER
    from aipm_http_server.running_file import forget_running
    from aipm_http_server.stop_signals import stop_signals

    with stop_signals() as signals:
        opened = open_runtime(settings, mode=ServeMode.SERVER)
        async with opened as runtime, anyio.create_task_group() as tasks:
            if runtime.services.find(HTTP_SERVER) is None:
                raise ConfigError("this command needs the plugin 'http_server', which is off")
            tasks.start_soon(_stop_on_signal, runtime, signals)
            tasks.start_soon(_tell_when_ready, runtime, machine)
            try:
                await runtime.serve(ServeMode.SERVER)
            finally:
                forget_running(settings.data_dir, os.getpid())
            tasks.cancel_scope.cancel()


async def _stop_on_signal(runtime: Runtime, signals: AsyncIterator[signal.Signals]) -> None:
    import logging

    from aipm_http_server.api import HTTP_SERVER
    from aipm_http_server.last_exit import end_in_time

    async for received in signals:
        logging.getLogger(__name__).info("told to stop by %s", received.name)
        end_in_time({package: name for name, package in runtime.plugins().items()})
        runtime.engine.end_waits()
        runtime.services.use(HTTP_SERVER).stop()


async def _tell_when_ready(runtime: Runtime, machine: TextIO | None) -> None:
    import json

    from aipm_http_server.api import HTTP_SERVER, HttpHooks
    from aipm_http_server.running_file import Running, note_running

    url = await runtime.services.use(HTTP_SERVER).url()
    note_running(runtime.settings.data_dir, Running(pid=os.getpid(), url=url))
    places = [owned.record for owned in runtime.given(HttpHooks.aipm_addresses)]
    if machine is not None:
        addresses = {place.name: place.at(url) for place in places}
        machine.write(json.dumps({"event": "ready", "url": url, **addresses}) + "\n")
        machine.flush()
    else:
        say(f"aipm is up at {url}")
        for place in places:
            say(f"  {place.title:<8} {place.at(url)}{f'   ({place.hint})' if place.hint else ''}")
        say("  stop     Ctrl-C")
    sys.stdout.flush()
