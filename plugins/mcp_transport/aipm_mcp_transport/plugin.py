"""MCP over Streamable HTTP (``aipm up``) and over stdio (``aipm mcp``)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from aipm_core import (
    Gateway,
    Lifespan,
    Plugin,
    PluginContext,
    Route,
    Runs,
    Transport,
    hookimpl,
)
from aipm_core.contributions import Asgi
from aipm_mcp_transport.api import SDK_EXTENSIONS, SdkExtension
from aipm_mcp_transport.calls import ToolCalls
from aipm_mcp_transport.config import McpConfig
from aipm_mcp_transport.protocol import Face
from aipm_mcp_transport.rendering import definitions

if TYPE_CHECKING:
    from aipm_mcp_transport.sdk import SdkDoor


class Extensions:
    """What other plugins add to the SDK's server."""

    def __init__(self) -> None:
        self.added: list[SdkExtension] = []

    def add(self, extension: SdkExtension) -> None:
        """Remember an extension until the server is built."""
        self.added.append(extension)


class McpTransport(Plugin[McpConfig]):
    """Opens the doors agents come through."""

    config_model = McpConfig
    provides = (SDK_EXTENSIONS,)

    def __init__(self, ctx: PluginContext[McpConfig]) -> None:
        super().__init__(ctx)
        self._extensions = Extensions()
        self._doors: list[SdkDoor] = []
        ctx.services.provide(SDK_EXTENSIONS, self._extensions)

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Serve agents over HTTP."""
        yield Route(path="/mcp", build=self._endpoint, methods=("*",))

    @hookimpl
    def aipm_transports(self) -> Iterable[Transport]:
        """Serve one agent over standard input and output."""
        yield Transport(name="mcp_stdio", serve=self._stdio, runs=Runs.MCP)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Close what the SDK holds open."""
        yield Lifespan(name="mcp_sdk", open=self._life)

    def _endpoint(self, gateway: Gateway) -> Asgi:
        from aipm_mcp_transport.fastlane import FastLane
        from aipm_mcp_transport.http import Endpoint
        from aipm_mcp_transport.sdk import SdkDoor

        face, calls = self._face(gateway), ToolCalls(gateway)
        sdk = SdkDoor(gateway, calls, face, self._extensions.added)
        self._doors.append(sdk)
        lane = FastLane(gateway, calls, face, self.ctx.config.progress_seconds)
        return Endpoint(lane, sdk, stateless=sdk.stateless)

    async def _stdio(self, gateway: Gateway) -> None:
        from aipm_mcp_transport.stdio import serve

        calls = ToolCalls(gateway)
        await serve(calls, self._face(gateway), self.ctx)

    def _face(self, gateway: Gateway) -> Face:
        return Face.of(self.ctx.texts, partial(definitions, gateway))

    @asynccontextmanager
    async def _life(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for door in self._doors:
                await door.close()
