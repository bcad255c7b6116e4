"""The official SDK's server: handshake, discovery, streams, and every odd request.

Imported only when ``aipm up`` builds its routes: ``import mcp`` costs more than all the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from aipm_http_server.api import LARGEST_BODY
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams

from aipm_core import Gateway
from aipm_mcp_transport.api import SdkExtension
from aipm_mcp_transport.calls import ToolCalls
from aipm_mcp_transport.headers import Head
from aipm_mcp_transport.protocol import LIST_FRESH_MS, MODERN, ServerInfo
from aipm_mcp_transport.rendering import outcome


class SdkEndpoint:
    """An ASGI application around the SDK's session manager, started when it is first needed."""

    def __init__(
        self,
        gateway: Gateway,
        calls: ToolCalls,
        server_info: ServerInfo,
        extensions: Iterable[SdkExtension],
    ) -> None:
        server = make_server(gateway, calls, server_info)
        self.stateless = True
        for extension in extensions:
            extension.extend(server)
            self.stateless = self.stateless and not extension.back_channel
        self._manager = StreamableHTTPSessionManager(
            app=server, stateless=self.stateless, max_request_body_size=LARGEST_BODY
        )
        self._life: asyncio.Task[None] | None = None
        self._started = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Let the SDK answer."""
        if self._life is None:
            self._life = asyncio.create_task(self._live())
        await self._started.wait()
        await self._manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End the sessions and streams that are open."""
        if self._life is not None:
            self._life.cancel()
            await asyncio.gather(self._life, return_exceptions=True)

    async def _live(self) -> None:
        # The manager's task group must be entered and left by one and the same task.
        async with self._manager.run():
            self._started.set()
            await asyncio.get_running_loop().create_future()


def make_server(gateway: Gateway, calls: ToolCalls, server_info: ServerInfo) -> Server[Any]:
    """Make the SDK's server with the runtime's tools."""
    listing = ListToolsResult.model_validate(server_info.listing(modern=False))
    schemas = {tool.name: gateway.schema(tool.name) for tool in gateway.catalog()}

    async def list_tools(
        ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return listing

    async def call_tool(
        ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        return await _call(calls, server_info, ctx, params)

    fresh = CacheHint(ttl_ms=LIST_FRESH_MS, scope="public")
    return Server(
        server_info.name,
        title=server_info.title,
        version=server_info.version,
        instructions=server_info.instructions,
        cache_hints={"tools/list": fresh, "server/discover": fresh},
        # Without it the SDK runs the whole tools/list for each modern call.
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def _call(
    calls: ToolCalls,
    server_info: ServerInfo,
    ctx: ServerRequestContext[Any],
    params: CallToolRequestParams,
) -> CallToolResult:
    token = ctx.meta.get("progress_token") if ctx.meta else None
    progress = None if token is None else ctx.session.report_progress
    credential = Head.read(ctx.request.headers.raw).credential if ctx.request else None
    reply = await calls.run(params.name, params.arguments or {}, credential, progress)
    told = outcome(reply, server_info, modern=ctx.protocol_version in MODERN)
    if (error := told.get("error")) is not None:
        raise MCPError(code=error["code"], message=error["message"], data=error["data"])
    return CallToolResult.model_validate(told["result"])
