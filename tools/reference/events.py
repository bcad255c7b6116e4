"""docs/reference/events.md: what user interfaces receive and send."""

from __future__ import annotations

import inspect
import json

from aipm_ui_gateway.api import EVENT_TYPES
from aipm_ui_gateway.ui_commands.payloads import COMMAND_TYPES
from pydantic import BaseModel

from tools.reference.markdown import code, page, plain, table

INTRODUCTION = """\
User interfaces connect to `/ws` (WebSocket), or read `GET /events` (server-sent events) and post to
`/commands`. The same frames travel on both. The machine-readable form of this page is served at
`GET /schema/events.json`.

The token (`aipm token create --agent HUMAN`) comes in the header `Authorization: Bearer …`, or on a
WebSocket as the first frame `{"type": "auth", "token": …}`; the server answers `{"type": "ready"}`.
"""
EVENTS = """\
## Events
Every event is `{"id", "seq", "type", "timestamp", "scope", "payload"}`. `seq` counts per session
without gaps; who comes back with `lastSeq` is told what was missed, then goes live. A session's
events also carry `sessionId` in their payload. Optional fields that nobody set are left out.
"""
COMMANDS = """\
## Commands
Every command is `{"id", "type", "payload"}` and is answered with `{"type": "ack", "id", …}` or
`{"type": "error", "id", "code", "message"}` (see [errors](errors.md)). The `id` is yours; the same
id twice has one effect and one answer, also after a restart. Where a command takes `sessionId`, it
may be left out on a connection with one session.
"""
FRAMES = (
    ('{"type": "ready"}', "the token was accepted"),
    (
        '{"type": "resync_required", "sessionId", "lastSeq"}',
        "events behind your `lastSeq` are no longer kept: load the present state, "
        "live events go on from there",
    ),
    ('{"type": "session_closed", "sessionId"}', "the session is over"),
    ('{"type": "server_stopping"}', "connect again in a moment"),
)


def write() -> str:
    """Return the page as it should be."""
    events = [
        _section(name, f"Scope `{kind.scope}`. ", kind.payload)
        for name, kind in EVENT_TYPES.items()
    ]
    commands = [_section(name, "", model) for name, model in COMMAND_TYPES.items()]
    frames = table(("frame", "when"), [(code(frame), when) for frame, when in FRAMES])
    others = f"## Other frames\n{frames}"
    return page("Events and commands", INTRODUCTION, EVENTS, *events, COMMANDS, *commands, others)


def _section(name: str, start: str, model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    rows = _rows(schema, schema.get("$defs", {}))
    about = f"### {name}\n{start}{plain(inspect.getdoc(model))}"
    return f"{about}\n\n{table(('field', 'type', 'default'), rows)}"


def _rows(
    schema: dict[str, object], parts: dict[str, object], prefix: str = ""
) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    properties = schema.get("properties")
    required = schema.get("required")
    assert isinstance(properties, dict)  # noqa: S101 - pydantic's own schema
    for name, field in properties.items():
        needed = isinstance(required, list) and name in required
        rows.append((code(f"{prefix}{name}"), _type(field), _default(field, needed=needed)))
        inner = _inner(field, parts)
        if inner is not None:
            mark = "[]." if field.get("type") == "array" else "."
            rows += _rows(inner, parts, f"{prefix}{name}{mark}")
    return rows


def _inner(field: dict[str, object], parts: dict[str, object]) -> dict[str, object] | None:
    items = field.get("items")
    reference = (items if isinstance(items, dict) else field).get("$ref")
    part = parts.get(str(reference).rpartition("/")[2])
    return part if isinstance(part, dict) else None


def _type(field: dict[str, object]) -> str:
    if isinstance(choices := field.get("enum"), list):
        return ", ".join(code(choice) for choice in choices)
    if isinstance(options := field.get("anyOf"), list):
        return " or ".join(_type(option) for option in options if option.get("type") != "null")
    if "$ref" in field:
        return "object"
    kind = str(field.get("type", "any JSON"))
    return "list" if kind == "array" else kind


def _default(field: dict[str, object], *, needed: bool) -> str:
    if needed:
        return "required"
    default = field.get("default")
    return "" if default in (None, {}) or "$ref" in field else code(json.dumps(default))
