"""Listens, says when it is ready, and stops cleanly on a signal."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import contextmanager

import anyio
import uvicorn

from aipm_core.config import ServerSettings
from aipm_core.contributions import Runs
from aipm_core.errors import PortTaken, StartupError
from aipm_core.runtime import Runtime
from aipm_core.server import supervisor
from aipm_core.server.app import App
from aipm_core.server.guard import Guard, check_bind
from aipm_core.server.reception import reception
from aipm_core.wire import LARGEST_BODY

logger = logging.getLogger(__name__)
_PATIENCE = 60  # seconds a client may leave what was sent to it unread
_STOPPING = (signal.SIGTERM, signal.SIGINT)
_IDLE = 120  # seconds: longer than clients keep idle connections (4 to 90), see below
_GRACE = 5  # seconds for requests under way when the program is told to stop


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


async def serve(
    runtime: Runtime,
    settings: ServerSettings,
    ready: Callable[[str], None],
    signals: AsyncIterator[signal.Signals],
) -> None:
    """Serve until the first signal; ``ready`` is told the base address once it answers."""
    listener = _listen(settings)
    port = listener.getsockname()[1]
    app = Guard(App(runtime, runtime.store, runtime.routes), settings, port)
    server = _Server(
        uvicorn.Config(
            app,
            http=reception(settings.request_seconds),
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,  # nothing here believes what a header says about its sender
            limit_concurrency=settings.max_connections,
            # Who closes first must be the client: it would lose a request sent at that moment.
            timeout_keep_alive=_IDLE,
            timeout_graceful_shutdown=_GRACE,
            ws="websockets-sansio",
            ws_max_size=LARGEST_BODY,
            ws_ping_interval=settings.ping_seconds,
            ws_ping_timeout=settings.ping_seconds,
        )
    )
    server.on_started = lambda: _say_ready(_url(settings.host, port), ready)  # type: ignore[method-assign]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, runtime, server, signals)
        tasks.start_soon(supervisor.keep_telling)
        tasks.start_soon(runtime.serve, Runs.UP)
        await server.serve(sockets=[listener])
        logger.info("stopped")
        tasks.cancel_scope.cancel()


def _say_ready(url: str, ready: Callable[[str], None]) -> None:
    logger.info("listening on %s", url)
    supervisor.tell(supervisor.READY)
    ready(url)


def _listen(settings: ServerSettings) -> socket.socket:
    check_bind(settings)
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol must be named, or asyncio leaves TCP_NODELAY off and every reply takes 44 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Closing waits until everything is sent: for a client that stopped reading, for ever.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _PATIENCE * 1000)
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


async def _stop_on_signal(
    runtime: Runtime, server: uvicorn.Server, signals: AsyncIterator[signal.Signals]
) -> None:
    async for received in signals:
        logger.info("told to stop by %s", received.name)
        supervisor.tell(supervisor.STOPPING)
        runtime.engine.end_waits()
        server.should_exit = True


@contextmanager
def stop_signals() -> Iterator[AsyncIterator[signal.Signals]]:
    """Receive SIGTERM and SIGINT instead of dying of them; afterwards they are ignored.

    A second one must not cut short what the first one began. The loop's own handlers would leave
    a moment, after they are removed, in which a signal kills.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[signal.Signals] = asyncio.Queue()

    def received(number: int, _: object) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, signal.Signals(number))

    async def each() -> AsyncGenerator[signal.Signals]:
        while True:
            yield await queue.get()

    for which in _STOPPING:
        signal.signal(which, received)
    try:
        yield each()
    finally:
        for which in _STOPPING:
            signal.signal(which, signal.SIG_IGN)


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
