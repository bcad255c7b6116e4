"""Bytes to a server and back, past every client that would tidy them up."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from aipm_devkit.program import Server

_PATIENCE = 30.0


@dataclass(frozen=True)
class Answer:
    """The first response a server gave."""

    status: int
    body: bytes

    @property
    def code(self) -> str | None:
        """The code of a refusal, if the body has one."""
        try:
            told: Any = json.loads(self.body)
        except ValueError:
            return None
        error = told.get("error", told) if isinstance(told, dict) else {}
        return str(error["code"]) if isinstance(error, dict) and "code" in error else None


def place(server: Server) -> tuple[str, int]:
    """Return host and port."""
    where = urlsplit(server.url)
    return where.hostname or "", where.port or 0


def send(server: Server, request: bytes, *, then_close: bool = True) -> Answer | None:
    """Send bytes and return the first answer; ``None`` if the server just closed."""
    with socket.create_connection(place(server), timeout=_PATIENCE) as wire:
        try:
            wire.sendall(request)
            if then_close:
                wire.shutdown(socket.SHUT_WR)
            return _read(wire)
        except TimeoutError:
            raise AssertionError("the server neither answers nor closes") from None
        except OSError:
            return None  # it answered before everything was sent, and was gone


def _read(wire: socket.socket) -> Answer | None:
    data = b""
    while b"\r\n\r\n" not in data:
        part = wire.recv(65536)
        if not part:
            return None if not data else Answer(int(data.split(b" ")[1]), b"")
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
    }
    length = int(fields.get(b"content-length", b"0"))
    while len(body) < length and (part := wire.recv(65536)):
        body += part
    return Answer(int(head.split(b" ")[1]), body[:length] if length else body)


def request(
    server: Server, line: str, *headers: str, host: str | None = None, body: bytes = b""
) -> bytes:
    """Make a request of exactly these headers, with the right Host unless another is given."""
    port = str(place(server)[1])
    shown = f"127.0.0.1:{port}" if host is None else host.replace("{port}", port)
    lines = [line, f"Host: {shown}", *(h.replace("{port}", port) for h in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
