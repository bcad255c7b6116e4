"""Receives requests whose head is neither endless nor slow: both would cost us, not the sender."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

LARGEST_HEAD = 64 * 1024


def reception(seconds: float) -> type[HttpToolsProtocol]:
    """Return the protocol of a server in which a request may take so long to arrive."""

    class Patient(Reception):
        patience = seconds

    return Patient


class Reception(HttpToolsProtocol):
    """One connection, from its first byte to its last answer."""

    patience = 30.0
    _head = 0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._have()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; what has not become a request after so many bytes never will."""
        if self._late is None:
            self._wait()
        self._head += len(data)
        super().data_received(data)
        if self._head > LARGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Begin a request, perhaps behind another one in the same bytes."""
        if self._late is None:
            self._wait()
        self._head = max(self._head, 1)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Take the head, unless it came whole and is too large all the same."""
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > LARGEST_HEAD:
            self._head = size
            raise ValueError("the head is too large")
        self._head = -(1 << 62)  # what follows is the body, which is measured elsewhere
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Have the whole request, and be ready for the next."""
        self._have()
        self._head = 0
        super().on_message_complete()

    def handle_websocket_upgrade(self) -> None:
        """Hand the connection over."""
        self._have()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        """Refuse in the form of every other refusal, and close."""
        self._refuse(*self._problem(late=False))

    def _problem(self, *, late: bool) -> tuple[int, str, str]:
        if late:
            return 408, "request_timeout", "the request did not arrive in time"
        if self._head > LARGEST_HEAD:
            return 431, "headers_too_large", f"the headers exceed {LARGEST_HEAD} bytes"
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
            self._refuse(*self._problem(late=True))
        else:
            self.transport.close()

    def _refuse(self, status: int, code: str, message: str) -> None:
        body: dict[str, Any] = {"error": {"code": code, "status": status, "message": message}}
        content = orjson.dumps(body)
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head % len(content) + content)
        self.transport.close()
