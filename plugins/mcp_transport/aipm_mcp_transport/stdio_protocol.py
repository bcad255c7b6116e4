"""What one stdio client may say when, and the answers that need no tool.

The first request decides the era: ``initialize`` opens a legacy conversation, a request with the
modern envelope a modern one. The answers are those of the official SDK, codes included.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aipm_core import Json, redact
from aipm_mcp_transport.elicitation import (
    RepeatedCall,
    can_elicit,
    is_repeated_call,
    repeated_call_of,
)
from aipm_mcp_transport.protocol import (
    CAPABILITIES_KEY,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    ProgressToken,
    ServerInfo,
    error_of,
    has_envelope,
    is_id,
)


class Refused(Exception):
    """The request is answered with an error of the protocol."""

    def __init__(self, code: int, message: str, data: Json = None) -> None:
        super().__init__(message)
        self.error = error_of(code, message, data)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that has to be run."""

    name: str
    arguments: Mapping[str, Json]
    token: ProgressToken | None
    modern: bool
    repeated: RepeatedCall | None = None


class StdioProtocol:
    """Remembers the era, whether the handshake is done, and what the client can do."""

    def __init__(self, server_info: ServerInfo) -> None:
        self._server_info = server_info
        self._era: Literal["legacy", "modern"] | None = None
        self._greeted = False
        self.can_elicit = False

    def answer(self, method: str, params: Json) -> dict[str, Json] | ToolCall:
        """Return the result of a request, or the tool call it asks for."""
        if self._era is None:
            modern = method != "initialize" and has_envelope(params)
            self._era = "modern" if modern else "legacy"
        if self._era == "modern":
            return self._modern(method, params)
        return self._legacy(method, params)

    def _legacy(self, method: str, params: Json) -> dict[str, Json] | ToolCall:
        if method == "initialize":
            return self._greet(params)
        if has_envelope(params):
            raise Refused(
                INVALID_REQUEST,
                "this connection serves the handshake protocol era; "
                "requests carrying the 2026-07-28 envelope are not accepted on it",
            )
        if method == "ping":
            return {}
        if method not in {"tools/list", "tools/call"}:
            raise Refused(METHOD_NOT_FOUND, "Method not found", redact(method))
        if not self._greeted:
            raise _invalid()
        if method == "tools/list":
            return self._server_info.listing(modern=False)
        return _tool_call(params, modern=False)

    def _greet(self, params: Json) -> dict[str, Json]:
        if not (
            isinstance(params, dict)
            and isinstance(params.get("protocolVersion"), str)
            and isinstance(params.get("capabilities"), dict)
            and isinstance(params.get("clientInfo"), dict)
        ):
            raise _invalid()
        self._greeted = True
        self.can_elicit = can_elicit(params["capabilities"])
        return self._server_info.initialize(params["protocolVersion"])

    def _modern(self, method: str, params: Json) -> dict[str, Json] | ToolCall:
        if method == "initialize":
            requested = params.get("protocolVersion") if isinstance(params, dict) else None
            raise Refused(
                UNSUPPORTED_VERSION,
                "connection is serving the 2026-07-28 protocol; "
                "the initialize handshake is not accepted",
                {"supported": list(MODERN), "requested": requested},
            )
        _check_envelope(params)
        if method == "server/discover":
            return self._server_info.discover()
        if method == "tools/list":
            return self._server_info.listing(modern=True)
        if method == "tools/call":
            return _tool_call(params, modern=True)
        raise Refused(METHOD_NOT_FOUND, "Method not found", redact(method))


def _check_envelope(params: Json) -> None:
    meta = params.get("_meta") if isinstance(params, dict) else None
    keys = (VERSION_KEY, CAPABILITIES_KEY)
    if not isinstance(meta, dict):
        raise Refused(
            INVALID_PARAMS,
            "params._meta must be an object carrying the required "
            f"{VERSION_KEY!r} and {CAPABILITIES_KEY!r} envelope keys",
        )
    if missing := [key for key in keys if key not in meta]:
        names = ", ".join(missing)
        raise Refused(
            INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {names}"
        )
    version = meta[VERSION_KEY]
    if not isinstance(version, str):
        raise Refused(INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if version not in MODERN:
        data = {"supported": list(MODERN), "requested": version}
        raise Refused(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    if not isinstance(meta[CAPABILITIES_KEY], dict):
        raise _invalid()


def _tool_call(params: Json, *, modern: bool) -> ToolCall:
    if not isinstance(params, dict) or not isinstance(params.get("name"), str):
        raise _invalid()
    arguments, meta = params.get("arguments"), params.get("_meta")
    if not isinstance(arguments, dict | None) or not isinstance(meta, dict | None):
        raise _invalid()
    token = (meta or {}).get("progressToken")
    if token is not None and not is_id(token):
        raise _invalid()
    if not modern:
        return ToolCall(params["name"], arguments or {}, token, modern)
    if not is_repeated_call(params):
        raise _invalid()
    repeated = repeated_call_of(params, (meta or {}).get(CAPABILITIES_KEY))
    return ToolCall(params["name"], arguments or {}, token, modern, repeated)


def _invalid() -> Refused:
    return Refused(INVALID_PARAMS, "Invalid request parameters", "")
