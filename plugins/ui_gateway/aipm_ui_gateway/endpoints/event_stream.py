"""``GET /events``: a session's events as server-sent events."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
import orjson
from aipm_http_server.api import answer
from aipm_sessions.api import Agent

from aipm_core import CallError, PluginContext
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.connection import Connection, Connections
from aipm_ui_gateway.first_of import first_of
from aipm_ui_gateway.follow_access import FollowAccess
from aipm_ui_gateway.following import Frame
from aipm_ui_gateway.identity import Identity

logger = logging.getLogger(__name__)
_LINE_ENDS = [(c.encode(), b"\\u%04x" % ord(c)) for c in "\x85\u2028\u2029"]
_HEADERS = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]


class EventStreamEndpoint:
    """An ASGI application that streams the events of one session, and system events."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        connections: Connections,
        identity: Identity,
        follow_access: FollowAccess,
    ) -> None:
        self._ctx = ctx
        self._connections = connections
        self._identity = identity
        self._follow_access = follow_access

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Serve one stream."""
        try:
            query = self._identity.query(scope, "session", "lastSeq")
            token = self._identity.token(scope)
            person = await self._identity.person(token)
            session_id = query.get("session")
            after = await self._place(scope, person, session_id, query.get("lastSeq"))
            async with self._connections.connect(person) as connection:
                if session_id is not None:
                    connection.attach(session_id, after)
                await self._stream(connection, token or "", receive, send)
        except CallError as error:
            await answer(send, error.status, error.code, str(error))

    async def _place(
        self,
        scope: Any,  # noqa: ANN401
        person: Agent,
        session_id: str | None,
        last_seq: str | None,
    ) -> int:
        if session_id is None:
            return 0
        if not await self._follow_access.begin(person, session_id):
            raise self._ctx.refuse("session_not_found", 404)
        # A browser that reconnects by itself repeats the address and adds the newer header.
        headers = dict(scope["headers"])
        given = headers.get(b"last-event-id", b"").decode("latin-1") or last_seq
        if not given:
            return await self._ctx.events.last_seq(session_id)
        if not (given.isascii() and given.isdigit() and len(given) < 19):  # noqa: PLR2004 - 64 bits
            raise self._ctx.refuse("invalid_query", 400, names="lastSeq=N")
        return int(given)

    async def _stream(
        self,
        connection: Connection,
        token: str,
        receive: Any,  # noqa: ANN401
        send: Any,  # noqa: ANN401
    ) -> None:
        stream = _Stream(self._ctx, send)
        await stream.start()
        try:
            finished = await first_of(
                stream.write(connection), _until_gone(receive), self._revoked(token)
            )
            if finished:
                await stream.end()
        except TimeoutError:
            logger.warning("dropped an event stream of %s: too slow", connection.person.id)
        except OSError:
            return  # the client has left

    async def _revoked(self, token: str) -> bool:
        await self._identity.until_revoked(token)
        if self._ctx.store.ending:
            await anyio.sleep_forever()  # the writer says good-bye
        return True


class _Stream:
    """Server-sent events over one ASGI response."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig], send: Any) -> None:  # noqa: ANN401
        self._ctx = ctx
        self._send = send

    async def start(self) -> None:
        """Send the headers; the first line makes proxies and browsers see an open stream."""
        await self._send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await self._put(b"retry: 1000\n: ready\n\n")

    async def write(self, connection: Connection) -> bool:
        """Send events, and a heartbeat when there are none; ``True`` when there will be no more."""
        while True:
            frame: Frame | None = None
            # Not asyncio.timeout: it cancels a receive that has its frame already, which is lost.
            with anyio.move_on_after(self._ctx.config.heartbeat_seconds):
                try:
                    frame = await connection.receive()
                except anyio.EndOfStream:
                    return True
            if frame is None:
                await self._put(b": heartbeat\n\n")
                continue
            await self._put(_lines(frame))
            if frame["type"] in {"server_stopping", "session_closed"}:
                return True

    async def end(self) -> None:
        """Finish the response."""
        await self._send({"type": "http.response.body", "body": b""})

    async def _put(self, text: bytes) -> None:
        async with asyncio.timeout(self._ctx.config.drain_seconds):
            await self._send({"type": "http.response.body", "body": text, "more_body": True})


def _lines(frame: Frame) -> bytes:
    # System events count in a sequence of their own: as ids they would spoil Last-Event-ID.
    place = b"id: %d\n" % frame["seq"] if frame.get("scope") == "session" else b""
    return b"%sdata: %s\n\n" % (place, on_one_line(orjson.dumps(frame)))


def on_one_line(text: bytes) -> bytes:
    """Escape what the protocol takes for text and many of its readers for the end of a line."""
    for character, escaped in _LINE_ENDS:
        text = text.replace(character, escaped)
    return text


async def _until_gone(receive: Any) -> bool:  # noqa: ANN401
    while (await receive())["type"] != "http.disconnect":
        pass
    return False
