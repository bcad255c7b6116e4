"""MCP over standard input and output, for one agent, without the SDK.

An agent's program waits a second at most for this to be ready; ``import mcp`` alone takes most of
it. Tests replay the same conversations here and through the SDK.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from functools import partial

import orjson
from aipm_http_server.api import LARGEST_BODY, BadJson, parse_json

from aipm_core import Json, PluginContext
from aipm_mcp_transport.asking import Elicit
from aipm_mcp_transport.calls import ToolCalls, credential_of
from aipm_mcp_transport.config import McpConfig
from aipm_mcp_transport.elicitation import BackChannel, OpenChannel
from aipm_mcp_transport.lines import LineWriter, TooLong, opened
from aipm_mcp_transport.progress import ProgressReport
from aipm_mcp_transport.protocol import (
    INVALID_REQUEST,
    PARSE_ERROR,
    RequestId,
    ServerInfo,
    error_of,
    is_id,
    response,
)
from aipm_mcp_transport.rendering import outcome
from aipm_mcp_transport.standard_streams import STDIO
from aipm_mcp_transport.stdio_protocol import Refused, StdioProtocol, ToolCall

_CLIENT = "stdio"
_SHUTDOWN_TIMEOUT_SECONDS = 1.0  # for calls under way when the client closes its end


async def serve(calls: ToolCalls, server_info: ServerInfo, ctx: PluginContext[McpConfig]) -> None:
    """Serve until the client closes its end."""
    wire = ctx.services.use(STDIO)
    credential = credential_of(os.environ.get("AIPM_SESSION_TOKEN"))
    async with opened(wire.input, wire.output) as (reader, writer):
        front = StdioServer(calls, server_info, writer, credential, ctx.config.progress_seconds)
        try:
            async for line in reader.lines():
                front.take(line)
            await front.last_words()
        finally:
            await front.close()


class StdioServer:
    """One client's conversation: every call is a task of its own."""

    def __init__(
        self,
        calls: ToolCalls,
        server_info: ServerInfo,
        writer: LineWriter,
        credential: str | None,
        progress_seconds: float,
    ) -> None:
        self._calls = calls
        self._server_info = server_info
        self._writer = writer
        self._credential = credential
        self._progress_seconds = progress_seconds
        self._protocol = StdioProtocol(server_info)
        self._channel = BackChannel()
        self._running: dict[RequestId, asyncio.Task[None]] = {}

    def take(self, line: bytes | TooLong) -> None:
        """Deal with one line."""
        if isinstance(line, TooLong):
            reason = f"the message exceeds {LARGEST_BODY} bytes"
            self._send(response(None, error_of(INVALID_REQUEST, reason)))
            return
        if not line.strip():
            return
        try:
            message = parse_json(line)
        except BadJson as error:
            self._send(response(None, error_of(PARSE_ERROR, f"Parse error: {error}")))
            return
        if isinstance(message, dict):
            self._message(message)
        else:
            reason = "one JSON-RPC message a line, no batch"
            self._send(response(None, error_of(INVALID_REQUEST, reason)))

    async def last_words(self) -> None:
        """Let calls end that are about to; nobody will wait for the others."""
        if self._running and not self._writer.broken:
            await asyncio.wait(self._running.values(), timeout=_SHUTDOWN_TIMEOUT_SECONDS)

    async def close(self) -> None:
        """End every call."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _message(self, message: Mapping[str, Json]) -> None:
        id, method = message.get("id"), message.get("method")  # noqa: A001
        if method == "notifications/cancelled":
            self._cancel(message.get("params"))
        if method is None and ("result" in message or "error" in message):
            self._channel.take(_CLIENT, message)
            return
        if "id" not in message:
            return
        if message.get("jsonrpc") != "2.0" or not is_id(id) or not isinstance(method, str):
            refusal = error_of(INVALID_REQUEST, "Invalid Request")
            self._send(response(id if is_id(id) else None, refusal))
            return
        try:
            answer = self._protocol.answer(method, message.get("params"))
        except Refused as refused:
            self._send(response(id, refused.error))
            return
        if isinstance(answer, ToolCall):
            self._start(id, answer)
        else:
            self._send(response(id, {"result": answer}))

    def _cancel(self, params: Json) -> None:
        id = params.get("requestId") if isinstance(params, dict) else None  # noqa: A001
        task = self._running.get(id) if is_id(id) else None
        if task is not None:
            task.cancel()

    def _start(self, id: RequestId, call: ToolCall) -> None:  # noqa: A002
        task = asyncio.create_task(self._run(id, call))
        self._running[id] = task
        task.add_done_callback(lambda done: self._forget(id, done))

    def _forget(self, id: RequestId, task: asyncio.Task[None]) -> None:  # noqa: A002
        if self._running.get(id) is task:
            del self._running[id]

    async def _run(self, id: RequestId, call: ToolCall) -> None:  # noqa: A002
        run = partial(
            self._calls.run,
            call.name,
            call.arguments,
            self._credential,
            elicit=self._way_to_user(call),
        )
        if call.token is None:
            reply = await run()
        else:
            report = ProgressReport(call.token, self._notify)
            beats = asyncio.create_task(self._beat(report))
            try:
                reply = await run(progress=report.report)
            finally:
                beats.cancel()
        self._send(response(id, outcome(reply, self._server_info, modern=call.modern)))

    def _way_to_user(self, call: ToolCall) -> Elicit | None:
        if call.modern:
            return call.repeated
        can = self._protocol.can_elicit
        return OpenChannel(self._channel, _CLIENT, self._notify) if can else None

    async def _beat(self, report: ProgressReport) -> None:
        while True:
            await asyncio.sleep(self._progress_seconds)
            await report.beat()

    async def _notify(self, message: Mapping[str, Json]) -> None:
        self._send(message)

    def _send(self, message: Mapping[str, Json]) -> None:
        self._writer.write(orjson.dumps(message))
