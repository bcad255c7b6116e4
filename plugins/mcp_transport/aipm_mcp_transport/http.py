"""Streamable HTTP at ``/mcp``: reads the message once, strictly, and picks who answers it."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aipm_http_server.api import Asgi, BadJson, connection_of, parse_json

from aipm_core import SECRET, Json
from aipm_core import TOKEN_ARGUMENT as TOKEN
from aipm_mcp_transport.elicitation import can_elicit
from aipm_mcp_transport.fastlane import FastLane
from aipm_mcp_transport.headers import Head
from aipm_mcp_transport.plaincall import PlainCall
from aipm_mcp_transport.protocol import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    error_of,
    is_id,
    response,
)

_SESSION = b"mcp-session-id"
_MEMBERS = frozenset({"method", "result", "error"})


class McpEndpoint:
    """The ASGI application of the route."""

    def __init__(
        self,
        lane: FastLane,
        sdk: Asgi,
        knows: Callable[[str], Awaitable[bool]],
        *,
        stateless: bool,
    ) -> None:
        self._lane = lane
        self._knows = knows
        self._sdk = sdk
        self._stateless = stateless

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Answer one HTTP request."""
        if scope["method"] != "POST":
            await self._other_method(scope, receive, send)
            return
        head = Head.read(scope["headers"])
        try:
            body = await _body(head, receive)
            message = _message_of(body)
        except _Refused as refused:
            await refused.send(send)
        except _Left:
            return
        else:
            await self._message(head, message, scope, _Replayed(body, receive), send)

    async def _message(
        self,
        head: Head,
        message: dict[str, Json],
        scope: Any,  # noqa: ANN401
        receive: _Replayed,
        send: Any,  # noqa: ANN401
    ) -> None:
        call = self._lane.takes(head, message)
        if call is not None:
            await self._recognise(scope, call)
            await self._lane.answer(call, head, receive.rest, send)
            return
        method, params = message.get("method"), message.get("params")
        if method is None and self._lane.answered(head.session, message):
            await send({"type": "http.response.start", "status": 202, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        if method == "notifications/cancelled" and isinstance(params, dict):
            self._lane.cancel(head, params.get("requestId"))
        if method == "initialize":
            able = isinstance(params, dict) and can_elicit(params.get("capabilities"))
            send = self._with_session(send, able=able)
        await self._sdk(scope, receive, send)

    async def _recognise(self, scope: Any, call: PlainCall) -> None:  # noqa: ANN401
        """Let a connection keep its place whose token comes as an argument."""
        connection, token = connection_of(scope), call.arguments.get(TOKEN)
        if connection is None or connection.known or not isinstance(token, str):
            return
        if await self._knows(token):
            connection.recognise()

    def _with_session(self, send: Any, *, able: bool) -> Any:  # noqa: ANN401
        """Give a legacy client a session id, and remember whether it can ask its user.

        Any process takes any id: it ties a client's cancellations and answers to its own calls.
        """

        async def sending(message: Any) -> None:  # noqa: ANN401
            if message["type"] == "http.response.start" and message["status"] < 300:  # noqa: PLR2004
                if self._stateless:
                    minted = (_SESSION, secrets.token_hex(16).encode())
                    message = {**message, "headers": [*message["headers"], minted]}
                session = dict(message["headers"]).get(_SESSION)
                if able and session is not None:
                    self._lane.clients.remember(session.decode("latin-1"))
            await send(message)

        return sending

    async def _other_method(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Without sessions there is nothing to stream on GET and nothing to DELETE."""
        if not self._stateless:
            await self._sdk(scope, receive, send)
            return
        reason = f"{scope['method']} is not used here: POST one message a request"
        await _Refused(405, INVALID_REQUEST, reason).send(send, (b"allow", b"POST"))


class _Left(Exception):
    """The client left before its message was complete."""


class _Refused(Exception):
    """The message is not one we would hand on."""

    def __init__(self, status: int, code: int, reason: str) -> None:
        super().__init__(reason)
        self._status = status
        self._body = orjson.dumps(response(None, error_of(code, reason)))

    async def send(self, send: Any, *headers: tuple[bytes, bytes]) -> None:  # noqa: ANN401
        """Answer with the error."""
        length = b"%d" % len(self._body)
        fields = [(b"content-type", b"application/json"), (b"content-length", length), *headers]
        start = {"type": "http.response.start", "status": self._status, "headers": fields}
        await send(start)
        await send({"type": "http.response.body", "body": self._body})


class _Replayed:
    """A body that was read already, for whoever reads it next."""

    def __init__(self, body: bytes, rest: Any) -> None:  # noqa: ANN401
        self._body: bytes | None = body
        self.rest = rest

    async def __call__(self) -> Any:  # noqa: ANN401
        body, self._body = self._body, None
        if body is None:
            return await self.rest()
        return {"type": "http.request", "body": body, "more_body": False}


async def _body(head: Head, receive: Any) -> bytes:  # noqa: ANN401
    """Read the whole body."""
    if not head.is_json:
        raise _Refused(415, INVALID_REQUEST, "Content-Type must be application/json")
    chunks: list[bytes] = []
    while True:
        event = await receive()
        if event["type"] != "http.request":
            raise _Left
        chunks.append(event.get("body", b""))
        if not event.get("more_body", False):
            return b"".join(chunks) if len(chunks) > 1 else chunks[0]


def _message_of(body: bytes) -> dict[str, Json]:
    """Parse strictly: a reader further in must not find another meaning in the same bytes."""
    try:
        message = parse_json(body)
    except BadJson as error:
        raise _Refused(400, PARSE_ERROR, f"Parse error: {error}") from None
    if not isinstance(message, dict):
        raise _Refused(400, INVALID_REQUEST, "one JSON-RPC message a request, no batch")
    if message.get("jsonrpc") != "2.0" or _MEMBERS.isdisjoint(message):
        raise _Refused(400, INVALID_REQUEST, "Invalid Request: not a JSON-RPC 2.0 message")
    if SECRET.search(str(message.get("method"))):
        # The SDK would repeat it.
        raise _Refused(400, INVALID_REQUEST, "Invalid Request: a secret is no method")
    if "method" in message and "id" in message and not is_id(message["id"]):
        # The SDK would take this for a notification and stay silent.
        raise _Refused(400, INVALID_REQUEST, "Invalid Request: id must be a string or an integer")
    _check_members(message)
    return message


def _check_members(message: dict[str, Json]) -> None:
    """Say in a few words what the SDK would say in four paragraphs, with the input repeated."""
    if not isinstance(message.get("method", ""), str):
        raise _Refused(400, INVALID_REQUEST, "Invalid Request: method must be a string")
    if "method" in message and not isinstance(message.get("params"), dict | None):
        raise _Refused(400, INVALID_PARAMS, "Invalid params: params must be an object")
