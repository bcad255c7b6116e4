"""``/ws``: a user interface over a WebSocket."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, NamedTuple

import anyio
import orjson
from aipm_http_server.api import (
    LARGEST_BODY,
    LARGEST_OF_STRANGERS,
    BadJson,
    answer,
    parse_json,
    recognise,
)
from aipm_sessions.api import Agent

from aipm_core import CallError, Json, PluginContext
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.connection import Connection, Connections
from aipm_ui_gateway.first_of import first_of
from aipm_ui_gateway.following import Frame
from aipm_ui_gateway.identity import Identity
from aipm_ui_gateway.limits import Limits
from aipm_ui_gateway.ui_commands.dispatch import refusal

logger = logging.getLogger(__name__)
_UNAUTHENTICATED, _TOO_MANY, _RESTART, _BROKEN = 4401, 4429, 1012, 1011


class _Close(NamedTuple):
    """How a connection ends from this side; without a code it is simply left."""

    code: int | None
    reason: str = ""


class _Gone(Exception):
    """The client has left."""


class WebSocketEndpoint:
    """An ASGI application for WebSockets."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        connections: Connections,
        identity: Identity,
        limits: Limits,
    ) -> None:
        self._ctx = ctx
        self._connections = connections
        self._identity = identity
        self._limits = limits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Serve one socket from before its upgrade to its end."""
        try:
            self._identity.query(scope)
            token = self._identity.token(scope)
            person = await self._identity.person(token) if token is not None else None
        except CallError as error:
            await answer(send, error.status, error.code, str(error), scope=scope)
            return
        await receive()
        await send({"type": "websocket.accept"})
        socket = _Socket(self._ctx, receive, send)
        try:
            close = await self._greet(scope, socket, person, token)
        except (_Gone, OSError):
            return
        if close is not None and close.code is not None:
            await socket.close(close)

    async def _greet(
        self,
        scope: Any,  # noqa: ANN401
        socket: _Socket,
        person: Agent | None,
        token: str | None,
    ) -> _Close | None:
        try:
            if person is None or token is None:
                token = await self._first_frame(scope, socket)
                person = await self._identity.person(token)
                recognise(scope)
            async with self._connections.connect(person) as connection:
                await socket.put({"type": "ready"})
                return await first_of(
                    socket.read(connection), socket.write(connection), self._revoked(token)
                )
        except CallError as error:
            await socket.put(refusal(error).reply)
            return _Close(_TOO_MANY if error.status == 429 else _UNAUTHENTICATED, error.code)  # noqa: PLR2004

    async def _first_frame(self, scope: Any, socket: _Socket) -> str:  # noqa: ANN401
        address = scope["client"][0] if scope["client"] else ""
        deadline = asyncio.timeout(self._ctx.config.auth_seconds)
        with self._limits.unauthenticated.slot(address, lambda: deadline.reschedule(0)) as place:
            try:
                async with deadline:
                    frame = await socket.frame(LARGEST_OF_STRANGERS)
            except TimeoutError:
                if place.lost:
                    raise self._ctx.refuse("too_many_connections", 429) from None
                raise self._ctx.refuse("authentication_required", 401) from None
        fits = isinstance(frame, dict) and frame.keys() == {"type", "token"}
        if not fits or frame["type"] != "auth" or not isinstance(frame["token"], str):
            raise self._ctx.refuse("authentication_required", 401)
        return frame["token"]

    async def _revoked(self, token: str) -> _Close | None:
        await self._identity.until_revoked(token)
        if self._ctx.store.ending:
            await anyio.sleep_forever()  # the writer says good-bye
        return _Close(_UNAUTHENTICATED, "session_invalid")


class _Socket:
    """Frames over one ASGI WebSocket."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig], receive: Any, send: Any) -> None:  # noqa: ANN401
        self._ctx = ctx
        self._receive = receive
        self._send = send

    async def read(self, connection: Connection) -> _Close | None:
        """Carry out commands until the client leaves."""
        while True:
            try:
                frame = await self.frame()
            except CallError as error:
                await self.put(refusal(error).reply)
                continue
            except _Gone:
                return None
            await connection.serve(frame, self.put)

    async def write(self, connection: Connection) -> _Close | None:
        """Send what the connection has until it ends or the client no longer takes it."""
        try:
            while True:
                frame = await connection.receive()
                await self.put(frame)
                if frame["type"] == "server_stopping":
                    return _Close(_RESTART, "server_stopping")
        except anyio.EndOfStream:
            return _Close(_BROKEN, "internal_error")
        except TimeoutError:
            logger.warning("dropped a user interface of %s: too slow", connection.person.id)
            return _Close(None)

    async def frame(self, most: int | None = None) -> Json:
        """Return the next frame of the client, read strictly."""
        limit = min(self._ctx.config.max_frame_bytes, most or LARGEST_BODY)
        message = await self._receive()
        if message["type"] == "websocket.disconnect":
            raise _Gone
        text = message.get("text")
        if text is None:
            raise self._ctx.refuse("invalid_frame", 400, reason="binary")
        body = text.encode()
        if len(body) > limit:
            raise self._ctx.refuse("payload_too_large", 413, limit=limit)
        try:
            return parse_json(body)
        except BadJson as error:
            raise self._ctx.refuse("invalid_frame", 400, reason=error) from None

    async def put(self, frame: Frame) -> None:
        """Send one frame; ``TimeoutError`` if the client does not take it."""
        message = {"type": "websocket.send", "text": orjson.dumps(frame).decode()}
        async with asyncio.timeout(self._ctx.config.drain_seconds):
            await self._send(message)

    async def close(self, close: _Close) -> None:
        """Say good-bye."""
        message = {"type": "websocket.close", "code": close.code, "reason": close.reason}
        try:
            async with asyncio.timeout(self._ctx.config.drain_seconds):
                await self._send(message)
        except (TimeoutError, OSError):
            return
