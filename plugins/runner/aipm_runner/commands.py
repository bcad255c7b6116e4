"""``aipm runner``: a runner as a process of its own, beside the server or on another machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from aipm_cli.api import (
    AsJson,
    Config,
    json_line,
    load_settings,
    log_to_stderr,
    say,
    target,
    with_service,
)

if TYPE_CHECKING:
    from aipm_core import ServiceKey
    from aipm_core.host import Runtime
    from aipm_runner.remote_supervisor import RemoteSupervisor
    from aipm_runner.server_client import RefusedError
    from aipm_runner.supervisor import Supervisor

_TOKEN = "AIPM_UI_TOKEN"  # noqa: S105 - the name of a variable  # nosec B105


def runner(
    server: Annotated[
        str | None,
        typer.Option(
            help="Address of a server elsewhere; your token is in AIPM_UI_TOKEN "
            "[AIPM_SERVER_URL; default: the server of --config, on the same store]."
        ),
    ] = None,
    under: Annotated[
        str | None, typer.Option(help="Only agents whose next person above is this one.")
    ] = None,
    project: Annotated[str | None, typer.Option(help="Only agents of one project.")] = None,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Start the programs of agents when there is work, until it is told to stop."""
    server = server or target().server
    if server is not None:
        _elsewhere(server, under, project, config, as_json=as_json)
        return
    if under is not None:
        raise typer.BadParameter("--under goes with --server")
    from aipm_http_server.api import ServerSettings

    settings = load_settings(config).section(ServerSettings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    address = f"http://{host}:{settings.port}"

    async def work(supervisor: Supervisor, runtime: Runtime) -> None:
        await _check_project(runtime, project)
        await _run(supervisor, address, project, as_json=as_json)

    with_service(config, _supervisor, work)


def _elsewhere(
    server: str,
    under: str | None,
    project: str | None,
    config: Config,
    *,
    as_json: bool,
) -> None:
    """Run for a server that is reached over HTTP alone."""
    import os

    from aipm_core import ConfigError

    os.environ.pop("AIPM_SERVER_URL", None)  # the settings are those of this machine
    token = os.environ.pop(_TOKEN, "").strip()  # not for the programs that are started here
    if not token:
        raise ConfigError(
            f"{_TOKEN} is not set: put the token of `aipm token create --agent YOU` into it"
        )
    if server.partition("://")[0] not in ("http", "https"):
        raise ConfigError(f"--server {server!r} is not an address such as http://127.0.0.1:8137")
    log_to_stderr()

    async def work(supervisor: RemoteSupervisor, _: Runtime) -> None:
        await _run_elsewhere(supervisor, server, token, under, project, as_json=as_json)

    with_service(config, _remote_supervisor, work)


async def _run_elsewhere(
    supervisor: RemoteSupervisor,
    server: str,
    token: str,
    under: str | None,
    project: str | None,
    *,
    as_json: bool,
) -> None:
    import asyncio
    import signal

    from aipm_runner.remote_supervisor import Scope
    from aipm_runner.server_client import RefusedError, ServerClient

    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    scope = Scope(project_id=project, under=under)
    try:
        async with ServerClient(server, token) as client, supervisor.running(client, scope):
            _ready(client.url, as_json=as_json)
            error = await supervisor.until_refused(stopped)
    except RefusedError as refused:
        error = refused
    if error is not None:
        raise _failure(error)


def _failure(error: RefusedError) -> Exception:
    from aipm_core import CallError

    return CallError(str(error), code=error.code, status=error.status)


async def _check_project(runtime: Runtime, project: str | None) -> None:
    """Refuse a project that does not exist: it would be waited for without end."""
    from aipm_sessions.api import DIRECTORY

    from aipm_core import CallError

    directory = runtime.services.use(DIRECTORY)
    if project is not None and await directory.project(runtime.store, project) is None:
        message = f"there is no project {project!r}; `aipm project list` shows them"
        raise CallError(message, code="project_not_found", status=404)


async def _run(supervisor: Supervisor, address: str, project: str | None, *, as_json: bool) -> None:
    import signal

    import anyio

    async def mcp_url() -> str:
        return f"{address}/mcp"

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async with supervisor.running(mcp_url, project):
            _ready(address, as_json=as_json)
            async for _ in signals:
                return


def _ready(address: str, *, as_json: bool) -> None:
    import sys

    if as_json:
        sys.stdout.write(json_line({"event": "ready", "server": address}) + "\n")
    else:
        say(f"the runner is ready; agents use {address}")
    sys.stdout.flush()


def _supervisor() -> ServiceKey[Supervisor]:
    from aipm_runner.plugin import SUPERVISOR

    return SUPERVISOR


def _remote_supervisor() -> ServiceKey[RemoteSupervisor]:
    from aipm_runner.plugin import REMOTE_SUPERVISOR

    return REMOTE_SUPERVISOR
