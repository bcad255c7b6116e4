"""Receives requests whose head is neither endless nor slow: both would cost us, not the sender."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from aipm_http_server.connections import Connection, Connections, state_of
from aipm_http_server.endings import answer_and_close, close_or_drop

LARGEST_HEAD = 64 * 1024


def reception(seconds: float, all_: Connections) -> type[HttpToolsProtocol]:
    """Return the protocol of a server in which a request may take so long to arrive."""

    class Patient(Reception):
        patience = seconds
        all_connections = all_

    return Patient


class Reception(HttpToolsProtocol):
    """One connection, from its first byte to its last answer."""

    patience: float
    all_connections: Connections
    _connection: Connection
    _head = 0
    _trailer: int | None = None
    _in_body = False
    _upgrade_with_body = False
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self._connection = self.all_connections.add(address, transport.abort)
        self.app_state = {**self.app_state, **state_of(self._connection)}
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._have()
        self._connection.leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what has not become a request after so many bytes never will."""
        if self._late is None:
            self._wait()
        self._head += len(data)
        super().data_received(data)
        if self._trailer is not None:
            self._trailer += len(data)
            if self._trailer > LARGEST_HEAD:
                self.transport.abort()
        if self._head > LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin a request, perhaps behind another one in the same bytes."""
        if self._late is None:
            self._wait()
        self._head = max(self._head, 1)
        self._in_body = False
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; what comes behind the body was not there when the head was judged."""
        if not self._in_body:
            super().on_header(name, value)

    def on_chunk_header(self) -> None:
        """Begin a chunk; behind the last one, which is empty, come trailers."""
        self._trailer = 0

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._trailer = None
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Take the head, unless it came whole and is too large all the same."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > LARGEST_HEAD:
            self._head = size
            raise ValueError("the head is too large")
        if b"#" in self.url or (self.url[:1] != b"/" and b"@" in self.url.partition(b"?")[0]):
            raise ValueError("a fragment or a user in an address is nobody's business here")
        if self.parser.should_upgrade() and any(map(_announces_body, self.headers)):
            self._upgrade_with_body = True
            raise ValueError("whoever speaks next on this connection would not know of the body")
        self._head = -(1 << 62)  # what follows is the body, which is measured elsewhere
        self._in_body = True
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Have the whole request, and be ready for the next."""
        self._have()
        self._head = 0
        self._trailer = None
        self._connection.works()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Have answered a request, perhaps not the last one that is here."""
        if not self.pipeline:
            self._connection.rests()
        super().on_response_complete()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over."""
        self._have()
        self._connection.rests()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Refuse in the form of every other refusal, and close."""
        answer_and_close(self.transport, *self._problem(late=False))

    def shutdown(self) -> None:
        """End when what is under way is answered; what has not come whole is not waited for."""
        half = self.cycle is not None and self.cycle.more_body
        close_or_drop(self.transport.close if half else super().shutdown, self.transport)

    def _problem(self, *, late: bool) -> tuple[int, str, str]:
        if late:
            return 408, "request_timeout", "the request did not arrive in time"
        if self._head > LARGEST_HEAD:
            return 431, "headers_too_large", f"the headers exceed {LARGEST_HEAD} bytes"
        if self._upgrade_with_body:
            return 400, "invalid_request", "a request for an upgrade has no body: leave it out"
        return 400, "invalid_request", "this is not HTTP as it is spoken here"

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.patience, self._give_up)

    def _have(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        if self.flow.read_paused:  # we are not reading, so it is not the client that is slow
            self._wait()
        elif self._head > 0:
            answer_and_close(self.transport, *self._problem(late=True))
        else:
            self.transport.close()


def _announces_body(header: tuple[bytes, bytes]) -> bool:
    name, value = header
    return name == b"transfer-encoding" or (name == b"content-length" and value.strip(b"0") != b"")
