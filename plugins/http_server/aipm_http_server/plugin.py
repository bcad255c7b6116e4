"""The HTTP server: a transport that serves the routes of all plugins."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aipm_core import (
    Authorizer,
    Gateway,
    Lifespan,
    Plugin,
    PluginContext,
    ServeMode,
    Transport,
    hookimpl,
)
from aipm_http_server.api import HTTP_SERVER, HttpHooks
from aipm_http_server.rate_limit import RateLimit
from aipm_http_server.running import RunningServer
from aipm_http_server.settings import ServerSettings

if TYPE_CHECKING:
    from aipm_http_server.routing import App


class HttpServer(Plugin[ServerSettings]):
    """Listens, checks every request, and hands it to its route."""

    config_model = ServerSettings
    own_section = True
    hooks = HttpHooks
    provides = (HTTP_SERVER,)

    def __init__(self, ctx: PluginContext[ServerSettings]) -> None:
        super().__init__(ctx)
        self._running = RunningServer()
        self._app: App | None = None
        ctx.services.provide(HTTP_SERVER, self._running)

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Limit how fast one session may call, if the settings say so."""
        if limit := self.ctx.config.max_calls_per_second:
            yield RateLimit(limit, self.ctx.texts, self.ctx.clock).authorizer()

    @hookimpl
    def aipm_transports(self) -> Iterable[Transport]:
        """Serve HTTP."""
        yield Transport(name="http", serve=self._serve)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Build the routes before anybody listens; some import much."""
        modes = frozenset({ServeMode.SERVER})
        yield Lifespan(name="routes", open=self._routes_built, serving=modes)

    @asynccontextmanager
    async def _routes_built(self) -> AsyncGenerator[None]:
        from aipm_http_server.routing import App  # what serves is imported by servers only

        routes = self.ctx.given(HttpHooks.aipm_routes)
        self._app = App(self.ctx.gateway, self.ctx.store, routes)
        yield

    async def _serve(self, gateway: Gateway) -> None:
        from aipm_http_server.server import serve

        if self._app is None:
            raise RuntimeError("the routes are built when the program begins to serve")
        await serve(self._app, self.ctx.config, gateway.knows, self._running)
