"""The fast lane: answers the plain ``tools/call`` itself.

The SDK spends 0.6-1.1 ms on a call (streams, tasks, two rounds of validation) whatever the call
does; here it is a function call. Both eras, with or without a legacy session, any process.
"""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from typing import Any

import orjson

from aipm_core import Gateway, Json, Reply
from aipm_mcp_transport.asking import Elicit
from aipm_mcp_transport.calls import ToolCalls
from aipm_mcp_transport.clients import Clients
from aipm_mcp_transport.elicitation import BackChannel, OpenChannel
from aipm_mcp_transport.exchange import Ended, Exchange
from aipm_mcp_transport.headers import Head
from aipm_mcp_transport.plaincall import PlainCall, recognise
from aipm_mcp_transport.progress import ProgressReport
from aipm_mcp_transport.protocol import REQUEST_CANCELLED, RequestId, ServerInfo, error_of, response
from aipm_mcp_transport.rendering import outcome

_PING_SECONDS = 15.0


class FastLane:
    """Takes the calls it understands, and leaves the rest."""

    def __init__(
        self, gateway: Gateway, calls: ToolCalls, server_info: ServerInfo, progress_seconds: float
    ) -> None:
        self._calls = calls
        self._server_info = server_info
        self._progress_seconds = progress_seconds
        self._tools = frozenset(
            tool.name
            for tool in gateway.catalog()
            # Arguments mirrored in headers are the SDK's business.
            if b'"x-mcp-header"' not in orjson.dumps(gateway.schema(tool.name))
        )
        self.clients = Clients()
        self._channel = BackChannel()
        self._open: dict[tuple[str, RequestId], tuple[Exchange, str | None]] = {}

    def takes(self, head: Head, message: dict[str, Json]) -> PlainCall | None:
        """Return the call if it is for this lane."""
        call = recognise(head, message)
        return call if call is not None and call.name in self._tools else None

    async def answer(self, call: PlainCall, head: Head, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Run the call and respond."""
        exchange = Exchange(receive, send)
        try:
            reply = await self._run(call, head, exchange)
        except Ended as ended:
            if ended.why == "cancelled":
                gone = error_of(REQUEST_CANCELLED, "Request cancelled")
                await exchange.finish(200, response(call.id, gone))
            return
        told = outcome(reply, self._server_info, modern=call.modern)
        status = 400 if call.modern and "error" in told else 200
        await exchange.finish(status, response(call.id, told))

    async def _run(self, call: PlainCall, head: Head, exchange: Exchange) -> Reply:
        """Run the call, open to cancellation by whoever holds the same session and token."""
        session = head.session
        if session is None:
            return await self._attended(call, head, exchange)
        key = (session, call.id)
        self._open[key] = mine = (exchange, head.credential)
        try:
            return await self._attended(call, head, exchange)
        finally:
            if self._open.get(key) is mine:
                del self._open[key]

    async def _attended(self, call: PlainCall, head: Head, exchange: Exchange) -> Reply:
        run, credential = self._calls.run, head.credential
        elicit = self._way_to_user(call, head, exchange)
        if call.token is None:
            work = run(call.name, call.arguments, credential, elicit=elicit)
            return await exchange.attend(work, exchange.ping, _PING_SECONDS)
        report = ProgressReport(call.token, exchange.notify)
        work = run(call.name, call.arguments, credential, report.report, elicit=elicit)
        return await exchange.attend(work, report.beat, self._progress_seconds)

    def _way_to_user(self, call: PlainCall, head: Head, exchange: Exchange) -> Elicit | None:
        if call.modern:
            return call.repeated
        if head.session is None or not self.clients.can_ask(head.session):
            return None
        return OpenChannel(self._channel, head.session, exchange.notify)

    def answered(self, session: str | None, message: Mapping[str, Json]) -> bool:
        """Take a client's response to what its own call asked; ``False`` if it is none."""
        return session is not None and self._channel.take(session, message)

    def cancel(self, head: Head, request: Json) -> None:
        """End a call that its own client called off; ids mean nothing between clients.

        A session's id alone is no proof: the bearer must be that of the call, or none for none.
        """
        if head.session is not None and isinstance(request, str | int):
            exchange, credential = self._open.get((head.session, request), (None, None))
            if exchange is not None and _same(credential, head.credential):
                exchange.end("cancelled")


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one is other
    return compare_digest(one.encode(), other.encode())
