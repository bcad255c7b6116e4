"""What user interfaces send: command frames, their payloads, and ``!call`` in what people write."""

import base64
import binascii
import json
from typing import Any, TypeVar

from aipm_agent_loop.api import Text, ToolCall
from aipm_agent_loop.providers.scripted import _asked_for
from aipm_sessions.api import arguments_digest
from aipm_ui_gateway.ui_commands.frames import CommandFrame, id_of
from aipm_ui_gateway.ui_commands.payloads import COMMAND_TYPES, IMAGES, SubmitUserInput
from pydantic import BaseModel, ValidationError

from aipm_core import CallError, Texts
from aipm_core.pipeline.arguments import refusal_of
from tests.fuzz.choices import Choices
from tests.fuzz.shapes import shaped
from tests.fuzz.target import Target

CORE, OWN = Texts.load("aipm_core", "ja"), Texts.load("aipm_ui_gateway", "ja")
REFUSALS = {"unsupported_type", "invalid_attachment", "content_empty"}
M = TypeVar("M", bound=BaseModel)


def checked(model: type[M], value: Any) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise refusal_of(error, CORE, OWN) from None


def digest(command: CommandFrame) -> str:
    return arguments_digest({"tool": command.type, "arguments": command.payload})


TEXT = {"type": "string"}
PICTURE = {
    "type": "object",
    "properties": {
        "type": {"enum": ["image", "video"]},
        "data": {"enum": ["aGk=", "", "aGk", "=", "あ", "aGk=\n", "iVBORw0KGgo="]},
        "mimeType": {"enum": [*IMAGES, "text/html", None]},
    },
    "required": ["type", "data"],
}
PAYLOADS: dict[str, dict[str, Any]] = {
    "submitUserInput": {
        "properties": {
            "text": {"anyOf": [TEXT, {"enum": ["!call help {}", '!call x {"a":1}', "!call x ["]}]},
            "attachments": {"type": "array", "items": PICTURE},
            "sessionId": TEXT,
        },
        "required": ["text"],
    },
    "provideConfirmation": {
        "properties": {
            "confirmationId": TEXT,
            "approved": {"type": "boolean"},
            "reason": TEXT,
            "scope": {"enum": ["once", "session", "always"]},
        },
        "required": ["confirmationId", "approved"],
    },
    "openSession": {
        "properties": {
            "projectId": TEXT,
            "agentId": TEXT,
            "sessionId": TEXT,
            "lastSeq": {"type": "integer"},
        }
    },
    "cancelRun": {"properties": {"sessionId": TEXT}},
    "closeSession": {"properties": {"sessionId": TEXT}},
}
FRAME = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "id": {"anyOf": [TEXT, {"enum": ["c1", "x" * 128, "x" * 129]}]},
                "type": {"enum": [name]},
                "payload": {"type": "object", **payload},
            },
            "required": ["id", "type", "payload"],
        }
        for name, payload in PAYLOADS.items()
    ]
}


def is_order(frame: Any) -> bool:
    return (
        isinstance(frame, dict)
        and frame.keys() <= {"id", "type", "payload"}
        and isinstance(frame.get("id"), str)
        and isinstance(frame.get("type"), str)
        and 1 <= len(frame["id"]) <= 128
        and 1 <= len(frame["type"]) <= 64
        and isinstance(frame.get("payload", {}), dict)
    )


def is_picture(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() - {"mimeType"} != {"type", "data"}:
        return False
    if value["type"] != "image" or not isinstance(value["data"], str):
        return False
    try:
        content = binascii.a2b_base64(value["data"].encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        return False
    kind = value.get("mimeType")
    return bool(content) and (kind is None or (isinstance(kind, str) and kind in IMAGES))


def has_types(payload: dict[str, Any], **types: type | tuple[type, ...]) -> bool:
    """Return whether the payload has only these names, each of exactly one of these types."""
    return all(
        name in types and type(value) in (*_tuple(types[name]), *MAYBE.get(name, ()))
        for name, value in payload.items()
    )


MAYBE: dict[str, tuple[type, ...]] = {
    name: (type(None),) for name in ("sessionId", "reason", "projectId", "agentId", "lastSeq")
}


def _tuple(types: type | tuple[type, ...]) -> tuple[type, ...]:
    return types if isinstance(types, tuple) else (types,)


def is_input(payload: dict[str, Any]) -> bool:
    pictures = payload.get("attachments", [])
    return (
        has_types(payload, text=str, attachments=list, sessionId=str)
        and "text" in payload
        and len(pictures) <= 16
        and all(map(is_picture, pictures))
        and bool(payload["text"].strip() or pictures)
    )


def is_answer(payload: dict[str, Any]) -> bool:
    return (
        has_types(payload, confirmationId=str, approved=bool, reason=str, scope=str)
        and {"confirmationId", "approved"} <= payload.keys()
        and payload.get("scope", "once") in ("once", "session", "always")
    )


def is_opening(payload: dict[str, Any]) -> bool:
    if not has_types(payload, projectId=str, agentId=str, sessionId=str, lastSeq=int):
        return False
    given = {name for name, value in payload.items() if value is not None}
    new = given == {"projectId", "agentId"}
    attached = "sessionId" in given and given <= {"sessionId", "lastSeq"}
    return (new or attached) and (payload.get("lastSeq") or 0) >= 0


def is_session(payload: dict[str, Any]) -> bool:
    return has_types(payload, sessionId=str)


RULES = {
    "submitUserInput": is_input,
    "provideConfirmation": is_answer,
    "openSession": is_opening,
    "cancelRun": is_session,
    "closeSession": is_session,
}


def parse(frame: Any) -> object:
    order = checked(CommandFrame, frame)
    model = COMMAND_TYPES.get(order.type)
    return order, checked(model, order.payload) if model else None


def check(frame: Any) -> None:
    assert id_of(frame) is None or isinstance(id_of(frame), str)
    good = is_order(frame)
    rule = RULES.get(frame["type"]) if good else None
    good = good and (rule is None or rule(frame.get("payload", {})))
    try:
        order = checked(CommandFrame, frame)
        model = COMMAND_TYPES.get(order.type)
        payload = checked(model, order.payload) if model else None
    except CallError as error:
        assert error.code in REFUSALS | {"invalid_arguments"}
        assert error.status == 400
        assert not good, str(error)
        return
    assert good
    again = json.loads(json.dumps(frame, sort_keys=True))
    assert digest(checked(CommandFrame, again)) == digest(order)
    other = {**frame, "payload": {**order.payload, "more": 1}}
    assert digest(checked(CommandFrame, other)) != digest(order)
    if isinstance(payload, SubmitUserInput):
        check_input(payload)


def check_input(payload: SubmitUserInput) -> None:
    for picture in payload.attachments:
        assert base64.b64encode(picture.content()).decode() == picture.data
        assert picture.mime_type() in (*IMAGES, "application/octet-stream")
    if payload.text.startswith("!call "):
        asked = _asked_for(payload.text.strip())
        assert isinstance(asked, Text) or (isinstance(asked, ToolCall) and type(asked.args) is dict)


def parse_quietly(frame: Any) -> object:
    try:
        return parse(frame)
    except CallError:
        return None


def pictures(size: int) -> Any:
    data = base64.b64encode(b"x" * size).decode()
    payload = {"text": "", "attachments": [{"type": "image", "data": data}]}
    return {"id": "c", "type": "submitUserInput", "payload": payload}


TARGET = Target[Any](
    read=lambda data: Choices(data).shaped(FRAME),
    check=check,
    values=shaped(FRAME),
    parse=parse_quietly,
    grown={
        "a picture": pictures,
        "unknown names": lambda size: {
            "id": "c",
            "type": "x",
            **{f"k{n}": 1 for n in range(size // 20)},
        },
        "blanks": lambda size: {
            "id": "c",
            "type": "submitUserInput",
            "payload": {"text": " " * size},
        },
    },
    longest=120,
)
