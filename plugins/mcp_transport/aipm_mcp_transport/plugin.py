"""MCP over Streamable HTTP (``aipm up``) and over stdio (``aipm mcp``)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from aipm_http_server.api import Address, Asgi, Route
from aipm_sessions.api import AGENT_TOKENS

from aipm_core import Gateway, Lifespan, Plugin, PluginContext, ServeMode, Transport, hookimpl
from aipm_mcp_transport.api import McpHooks
from aipm_mcp_transport.calls import ToolCalls
from aipm_mcp_transport.config import McpConfig
from aipm_mcp_transport.protocol import ServerInfo
from aipm_mcp_transport.rendering import definitions

if TYPE_CHECKING:
    from aipm_mcp_transport.sdk import SdkEndpoint


class McpTransport(Plugin[McpConfig]):
    """Offers MCP to agents."""

    config_model = McpConfig
    hooks = McpHooks
    uses = (AGENT_TOKENS,)

    def __init__(self, ctx: PluginContext[McpConfig]) -> None:
        super().__init__(ctx)
        self._sdk_endpoints: list[SdkEndpoint] = []

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Serve agents over HTTP."""
        yield Route(path="/mcp", build=self._endpoint, methods=("*",), deadline=None)

    @hookimpl
    def aipm_addresses(self) -> Iterable[Address]:
        """Tell where agents connect."""
        hint = "`aipm mcp-config --client claude` prints the snippet"
        yield Address(name="mcp", path="/mcp", title="agents", hint=hint)

    @hookimpl
    def aipm_transports(self) -> Iterable[Transport]:
        """Serve one agent over standard input and output."""
        yield Transport(name="mcp_stdio", serve=self._stdio, mode=ServeMode.STDIO)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Close what the SDK holds open."""
        yield Lifespan(name="mcp_sdk", open=self._life)

    def _endpoint(self, gateway: Gateway) -> Asgi:
        from aipm_mcp_transport.fastlane import FastLane
        from aipm_mcp_transport.http import McpEndpoint
        from aipm_mcp_transport.sdk import SdkEndpoint

        server_info, calls = self._server_info(gateway), self._calls(gateway)
        extensions = [owned.record for owned in self.ctx.given(McpHooks.aipm_sdk_extensions)]
        sdk = SdkEndpoint(gateway, calls, server_info, extensions)
        self._sdk_endpoints.append(sdk)
        lane = FastLane(gateway, calls, server_info, self.ctx.config.progress_seconds)
        return McpEndpoint(lane, sdk, gateway.knows, stateless=sdk.stateless)

    async def _stdio(self, gateway: Gateway) -> None:
        from aipm_mcp_transport.stdio import serve

        await serve(self._calls(gateway), self._server_info(gateway), self.ctx)

    def _calls(self, gateway: Gateway) -> ToolCalls:
        return ToolCalls(gateway, self.ctx.services.find(AGENT_TOKENS))

    def _server_info(self, gateway: Gateway) -> ServerInfo:
        return ServerInfo.of(self.ctx.texts, partial(definitions, gateway))

    @asynccontextmanager
    async def _life(self) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            for endpoint in self._sdk_endpoints:
                await endpoint.close()
