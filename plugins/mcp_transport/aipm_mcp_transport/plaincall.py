"""Recognises the plain ``tools/call`` among everything a client may post.

Plain means: nothing in it that needs the SDK's judgement. Whatever is odd is not refused here but
left to the SDK, which knows the specification's answer to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aipm_core import Json
from aipm_mcp_transport.elicitation import (
    REPEATED_CALL_PARAMS,
    RepeatedCall,
    is_repeated_call,
    repeated_call_of,
)
from aipm_mcp_transport.headers import Head
from aipm_mcp_transport.protocol import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LEGACY,
    MODERN,
    VERSION_KEY,
    ProgressToken,
    RequestId,
    is_id,
)

_MEMBERS = frozenset({"jsonrpc", "id", "method", "params"})
_PARAMS = frozenset({"name", "arguments", "_meta"})
_LEGACY = frozenset(version.encode() for version in LEGACY)
_MODERN = {version.encode(): version for version in MODERN}


@dataclass(frozen=True, slots=True)
class PlainCall:
    """A ``tools/call`` that can be answered on the spot."""

    id: RequestId
    name: str
    arguments: Mapping[str, Json]
    token: ProgressToken | None
    modern: bool
    repeated: RepeatedCall | None = None


def recognise(head: Head, message: Mapping[str, Json]) -> PlainCall | None:
    """Return the call if it is a plain one."""
    if message.get("method") != "tools/call" or head.doubled or not head.takes_streams:
        return None
    params = message.get("params")
    if not _is_request(message) or not isinstance(params, dict):
        return None
    name, arguments, meta = params.get("name"), params.get("arguments"), params.get("_meta", {})
    if not (
        isinstance(name, str) and isinstance(meta, dict) and isinstance(arguments, dict | None)
    ):
        return None
    token = meta.get("progressToken")
    modern = VERSION_KEY in meta
    if not (token is None or is_id(token)) or not _are_plain(params, modern=modern):
        return None
    if not _fits_era(head, name, meta, modern=modern):
        return None
    repeated = repeated_call_of(params, meta[CAPABILITIES_KEY]) if modern else None
    return PlainCall(message["id"], name, arguments or {}, token, modern, repeated)


def _are_plain(params: Mapping[str, Json], *, modern: bool) -> bool:
    known = _PARAMS | REPEATED_CALL_PARAMS if modern else _PARAMS
    return params.keys() <= known and is_repeated_call(params)


def _is_request(message: Mapping[str, Json]) -> bool:
    return (
        message.keys() <= _MEMBERS and message.get("jsonrpc") == "2.0" and is_id(message.get("id"))
    )


def _fits_era(head: Head, name: str, meta: Mapping[str, Json], *, modern: bool) -> bool:
    fields = head.fields
    version = fields.get(b"mcp-protocol-version")
    if not modern:
        return version is None or version in _LEGACY
    return (
        version in _MODERN
        and meta[VERSION_KEY] == _MODERN[version]
        and fields.get(b"mcp-method") == b"tools/call"
        and head.text(b"mcp-name") == name
        and _are_capabilities(meta.get(CAPABILITIES_KEY))
        and _is_client(meta.get(CLIENT_KEY, _NOBODY))
    )


_NOBODY = {"name": "", "version": ""}
_CLIENT = frozenset({"name", "version", "title"})


def _are_capabilities(value: Json) -> bool:
    return isinstance(value, dict) and all(isinstance(item, dict) for item in value.values())


def _is_client(value: Json) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("version"), str)
        and (len(value) == len(_NOBODY) or isinstance(value.get("title"), str))
        and value.keys() <= _CLIENT
    )
