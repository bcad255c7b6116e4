"""Listens, says when it answers, and stops when it is told to."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import uvicorn

from aipm_core import StartupError
from aipm_http_server import systemd
from aipm_http_server.connections import Connections, Room
from aipm_http_server.guard import Guard, Knows, check_bind
from aipm_http_server.http_protocol import reception
from aipm_http_server.routing import App
from aipm_http_server.running import RunningServer
from aipm_http_server.settings import ServerSettings
from aipm_http_server.strict_json import LARGEST_BODY
from aipm_http_server.websocket_protocol import Upgraded

logger = logging.getLogger(__name__)
_UNREAD_SECONDS = 60  # a client may leave what was sent to it unread for so long
_IDLE_SECONDS = 120  # longer than clients keep idle connections (4 to 90), see below
_GRACE_SECONDS = 5  # for requests under way when the program is told to stop


class PortTaken(StartupError):
    """Somebody else listens on the address."""

    exit_code = 1


class _Server(uvicorn.Server):
    """uvicorn without its own signal handling: a stop that was asked for exits with 0."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to :func:`serve`."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to answer, then say so."""
        await super().startup(sockets)
        self.on_started()

    def on_started(self) -> None:
        """Do nothing; :func:`serve` puts its own here."""


async def serve(app: App, settings: ServerSettings, knows: Knows, running: RunningServer) -> None:
    """Serve the routes of all plugins until ``running`` is told to stop."""
    listener = _listen(settings)
    port = listener.getsockname()[1]
    server = _Server(_uvicorn_settings(Guard(app, settings, port, knows), settings))
    url = _url(settings.host, port)
    server.on_started = lambda: _started(url, running)  # type: ignore[method-assign]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_when_told, server, running)
        tasks.start_soon(systemd.keep_telling)
        await server.serve(sockets=[listener])
        logger.info("stopped")
        tasks.cancel_scope.cancel()


def _uvicorn_settings(app: Guard, settings: ServerSettings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=reception(settings.request_seconds, Connections(Room.of(settings))),
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,  # nothing here believes what a header says about its sender
        # Who closes first must be the client: it would lose a request sent at that moment.
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ws=Upgraded,
        ws_max_size=LARGEST_BODY,
        ws_ping_interval=settings.ping_seconds,
        ws_ping_timeout=settings.ping_seconds,
    )


def _started(url: str, running: RunningServer) -> None:
    logger.info("listening on %s", url)
    systemd.tell(systemd.READY)
    running.answers_at(url)


async def _stop_when_told(server: uvicorn.Server, running: RunningServer) -> None:
    await running.told_to_stop()
    systemd.tell(systemd.STOPPING)
    server.should_exit = True


def _listen(settings: ServerSettings) -> socket.socket:
    check_bind(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol must be named, or asyncio leaves TCP_NODELAY off and every reply takes 44 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Closing waits until everything is sent: for a client that stopped reading, for ever.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_SECONDS * 1000)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(1024)
    except OSError as error:
        listener.close()
        where = f"{settings.host}:{settings.port}"
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"{where} is in use: another server listens there; stop it or use --port 0"
            ) from error
        raise StartupError(f"cannot listen on {where}: {error.strerror or error}") from error
    return listener


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
