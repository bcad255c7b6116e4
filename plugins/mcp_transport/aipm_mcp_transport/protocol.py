"""The protocol's own words, and what the server says about itself. Knows no SDK: stdio starts fast.

Legacy is every revision that opens with ``initialize``; modern is 2026-07-28, where each request
carries its own envelope in ``_meta``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TypeAlias, TypeGuard

from aipm_core import Json, Texts, redact

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
REQUEST_CANCELLED = -32800
UNSUPPORTED_VERSION = -32022

LIST_FRESH_MS = 60_000

RequestId: TypeAlias = str | int
ProgressToken: TypeAlias = str | int


@dataclass(frozen=True, kw_only=True)
class ServerInfo:
    """Who the server is, and what it offers."""

    name: str
    title: str
    version: str
    instructions: str
    offer: Callable[[], Iterable[Mapping[str, Json]]]

    @classmethod
    def of(cls, texts: Texts, offer: Callable[[], Iterable[Mapping[str, Json]]]) -> ServerInfo:
        """Describe this program in the language of its texts."""
        return cls(
            name="aipm",
            title=texts("server.title"),
            version=version("aipm-runtime"),
            instructions=texts("server.instructions"),
            offer=offer,
        )

    @cached_property
    def tools(self) -> Sequence[Mapping[str, Json]]:
        """The tools as agents see them; made when the first one asks."""
        return tuple(self.offer())

    def stamp(self) -> dict[str, Json]:
        """Return the server's identity as it goes on the wire."""
        return {"name": self.name, "title": self.title, "version": self.version}

    def initialize(self, requested: str) -> dict[str, Json]:
        """Answer the legacy handshake: the revision asked for, or the newest we have."""
        return {
            "protocolVersion": requested if requested in LEGACY else LEGACY[-1],
            "capabilities": {"tools": {"listChanged": False}},
            "serverInfo": self.stamp(),
            "instructions": self.instructions,
        }

    def discover(self) -> dict[str, Json]:
        """Answer ``server/discover``."""
        return self.modern(
            {
                "supportedVersions": list(MODERN),
                "capabilities": {"tools": {"listChanged": False}},
                "instructions": self.instructions,
                **_FRESH,
            }
        )

    def listing(self, *, modern: bool) -> dict[str, Json]:
        """Answer ``tools/list``."""
        tools: dict[str, Json] = {"tools": list(self.tools)}
        return self.modern({**tools, **_FRESH}) if modern else tools

    def modern(self, result: Mapping[str, Json]) -> dict[str, Json]:
        """Add what every modern result carries."""
        return {**result, "resultType": "complete", "_meta": {SERVER_KEY: self.stamp()}}


_FRESH = {"ttlMs": LIST_FRESH_MS, "cacheScope": "public"}


def error_of(code: int, message: str, data: Json = None) -> dict[str, Json]:
    """Make the ``error`` member of a response."""
    error: dict[str, Json] = {"code": code, "message": redact(message)}
    return {"error": error if data is None else {**error, "data": data}}


def response(id: RequestId | None, outcome: Mapping[str, Json]) -> dict[str, Json]:  # noqa: A002
    """Make a response of a ``result`` or an ``error`` member."""
    return {"jsonrpc": "2.0", "id": id, **outcome}


def is_id(value: Json) -> TypeGuard[RequestId]:
    """Return whether a value can be the id of a request, or a progress token."""
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))


def has_envelope(params: Json) -> bool:
    """Return whether a request claims to be modern."""
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and VERSION_KEY in meta
