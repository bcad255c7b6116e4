"""What other plugins may use of the HTTP server. Nothing here imports the server itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from aipm_core import ServiceKey, hookspec
from aipm_http_server.bearer import bearer
from aipm_http_server.buckets import TokenBuckets
from aipm_http_server.connections import connection_of, recognise
from aipm_http_server.idempotency import MAX_KEY_CHARACTERS, idempotency_key
from aipm_http_server.json_body import read_json, says_json
from aipm_http_server.records import Address, Asgi, Receive, Route, Scope, Send
from aipm_http_server.responses import answer, send_json
from aipm_http_server.running_file import find_running
from aipm_http_server.settings import ServerSettings
from aipm_http_server.strict_json import LARGEST_BODY, LARGEST_OF_STRANGERS, BadJson, parse_json

__all__ = [
    "HTTP_SERVER",
    "LARGEST_BODY",
    "LARGEST_OF_STRANGERS",
    "MAX_KEY_CHARACTERS",
    "Address",
    "Asgi",
    "BadJson",
    "HttpHooks",
    "HttpServer",
    "Receive",
    "Route",
    "Scope",
    "Send",
    "ServerSettings",
    "TokenBuckets",
    "answer",
    "bearer",
    "connection_of",
    "find_running",
    "idempotency_key",
    "parse_json",
    "read_json",
    "recognise",
    "says_json",
    "send_json",
]


class HttpHooks:
    """The hooks of this plugin."""

    @hookspec
    def aipm_routes(self) -> Iterable[Route]:
        """Parts of the HTTP server of ``aipm up``."""
        return ()

    @hookspec
    def aipm_addresses(self) -> Iterable[Address]:
        """Places of the server to tell of when it is ready."""
        return ()


class HttpServer(Protocol):
    """The server of this process."""

    async def url(self) -> str:
        """Wait until it answers; return its address."""
        ...

    def stop(self) -> None:
        """Finish what is under way and end."""
        ...


HTTP_SERVER = ServiceKey[HttpServer]("http_server.server")
