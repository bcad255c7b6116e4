"""``GET /schema/events.json``: what user interfaces send and receive, as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aipm_http_server.api import send_json
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from aipm_core import Gateway, Json
from aipm_ui_gateway.event_types import EVENT_TYPES, EventType
from aipm_ui_gateway.ui_commands.payloads import COMMAND_TYPES, CommandPayload

VERSION = 1


class SchemaEndpoint:
    """An ASGI application that tells the schema. It holds no secrets and needs no token."""

    def __init__(self, gateway: Gateway, kinds: Mapping[str, EventType] = EVENT_TYPES) -> None:
        self._gateway = gateway
        self._kinds = kinds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Answer with the schema."""
        await send_json(send, 200, describe(payloads(self._gateway), self._kinds))


def payloads(gateway: Gateway) -> dict[str, type[BaseModel]]:
    """Return what every command carries, by type: the contract's, and those of other plugins.

    Every tool for people can be given as a command; ``/api/openapi.json`` tells of those.
    """
    models = {tool.name: tool.arguments for tool in gateway.catalog("ui")}
    return COMMAND_TYPES | {
        name: model
        for name, model in models.items()
        if isinstance(model, type) and issubclass(model, CommandPayload)
    }


def describe(
    commands: dict[str, type[BaseModel]], kinds: Mapping[str, EventType] = EVENT_TYPES
) -> dict[str, Json]:
    """Return one schema: every frame is one of ``events``, ``commands`` or ``replies``."""
    models = [kind.payload for kind in kinds.values()] + list(commands.values())
    refs, definitions = models_json_schema(
        [(model, "validation") for model in models], ref_template="#/$defs/{model}"
    )
    parts = dict(definitions.get("$defs", {}))
    payload = {model: refs[model, "validation"] for model in models}
    events = {name: _event(kind, payload[kind.payload], parts) for name, kind in kinds.items()}
    orders = {name: _command(name, payload[model]) for name, model in commands.items()}
    groups = {"events": events, "commands": orders, "replies": _REPLIES}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "aipm user interface protocol",
        "version": VERSION,
        "$defs": parts | {name: {"oneOf": list(made.values())} for name, made in groups.items()},
        **groups,
    }


def _event(kind: EventType, payload: Json, parts: dict[str, Json]) -> Json:
    told = parts[payload["$ref"].rpartition("/")[2]]
    if kind.scope == "session":
        told["properties"]["sessionId"] = {"type": "string"}
        told["required"] = [*told.get("required", []), "sessionId"]
    return _object(
        id={"type": "string"},
        seq={"type": "integer", "minimum": 1},
        type={"const": kind.name},
        timestamp={"type": "string", "format": "date-time"},
        scope={"const": kind.scope},
        payload=payload,
    )


def _command(name: str, payload: Json) -> Json:
    made = _object(
        id={"type": "string", "minLength": 1, "maxLength": 128},
        type={"const": name},
        payload=payload,
    )
    return {**made, "additionalProperties": False}


def _object(**properties: Json) -> dict[str, Json]:
    return {"type": "object", "properties": properties, "required": list(properties)}


_TEXT = {"type": "string"}
_REPLIES = {
    "ack": _object(type={"const": "ack"}, id=_TEXT),
    "error": _object(
        type={"const": "error"}, id={"type": ["string", "null"]}, code=_TEXT, message=_TEXT
    ),
    "ready": _object(type={"const": "ready"}),
    "resync_required": _object(
        type={"const": "resync_required"}, sessionId=_TEXT, lastSeq={"type": "integer"}
    ),
    "session_closed": _object(type={"const": "session_closed"}, sessionId=_TEXT),
    "server_stopping": _object(type={"const": "server_stopping"}),
}
