"""JSON-RPC messages, and a runtime behind the door that is no slower than it must be."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson
from aipm_http_server.strict_json import BadJson, parse_json
from aipm_mcp_transport.calls import ToolCalls
from aipm_mcp_transport.protocol import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LEGACY,
    MODERN,
    VERSION_KEY,
    ServerInfo,
)

from aipm_core import Access, AnyTool, CallError, Reply, Request, Tool, ToolNotFound

TOOLS = ("echo", "refuse", "replace")
CODES = {-32700, -32600, -32601, -32602, -32800, -32022}
TEXT, OBJECT = {"type": "string"}, {"type": "object"}
ID = {"anyOf": [{"type": "integer"}, TEXT]}
META = {
    "type": "object",
    "properties": {
        VERSION_KEY: {"enum": [*MODERN, *LEGACY, "1999-01-01"]},
        CAPABILITIES_KEY: {"anyOf": [OBJECT, {"enum": [{"elicitation": {}}, {"roots": {}}]}]},
        CLIENT_KEY: {"enum": [{"name": "x", "version": "1"}, {"name": "x"}]},
        "progressToken": ID,
    },
}
CALL = {
    "type": "object",
    "properties": {
        "name": {"enum": [*TOOLS, "nothing"]},
        "arguments": {"anyOf": [OBJECT, {"enum": [{"text": "a"}, {"wait_for_previous": True}]}]},
        "_meta": META,
    },
    "required": ["name"],
}
HELLO = {
    "type": "object",
    "properties": {
        "protocolVersion": {"enum": [*LEGACY, *MODERN, "x"]},
        "capabilities": {"enum": [{}, {"elicitation": {}}, {"elicitation": {"url": {}}}]},
        "clientInfo": {"enum": [{"name": "x", "version": "1"}]},
    },
    "required": ["protocolVersion", "capabilities", "clientInfo"],
}
CANCEL = {"type": "object", "properties": {"requestId": ID}, "required": ["requestId"]}
REPEATED = {"type": "object", "properties": {"requestState": TEXT, "inputResponses": OBJECT}}
METHODS = (
    *("tools/call", "initialize", "tools/list", "ping", "server/discover"),
    *("notifications/cancelled", "notifications/initialized", "tools/destroy"),
)
REQUEST = {
    "type": "object",
    "properties": {
        "jsonrpc": {"enum": ["2.0"]},
        "id": ID,
        "method": {"enum": list(METHODS)},
        "params": {"anyOf": [CALL, HELLO, CANCEL, REPEATED, CALL, {"enum": [None]}]},
    },
    "required": ["jsonrpc", "id", "method", "params"],
}
NOTE = {**REQUEST, "required": ["jsonrpc", "method"]}
RESPONSE = {
    "type": "object",
    "properties": {"jsonrpc": {"enum": ["2.0"]}, "id": ID, "result": OBJECT, "error": OBJECT},
    "required": ["jsonrpc", "id", "result"],
}
MESSAGE = {"anyOf": [REQUEST, REQUEST, REQUEST, NOTE, RESPONSE]}


async def _run(*_: object) -> None:
    """Stand in for a tool's function: the gateway below answers."""


class StandInGateway:
    """The gateway: knows three tools, and gives back what it was given."""

    def catalog(self, audience: str = "agent") -> tuple[AnyTool, ...]:
        return tuple(Tool(name=name, run=_run, access=Access.ANYONE) for name in TOOLS)

    def schema(self, tool: str) -> Mapping[str, Any]:
        return {"type": "object", "properties": {"text": {"type": "string"}}}

    async def call(self, request: Request) -> Reply:
        match request.tool:
            case "echo":
                return Reply(result={"arguments": dict(request.arguments)})
            case "refuse":
                return Reply.failure(CallError("no", code="refused", status=403))
            case "replace":
                return Reply(replaced="something else")
        return Reply.failure(ToolNotFound("no such tool"))


@cache
def stand_in_gateway() -> tuple[Any, ToolCalls, ServerInfo]:
    made: Any = StandInGateway()
    server_info = ServerInfo(name="x", title="x", version="1", instructions="", offer=tuple)
    return made, ToolCalls(made), server_info


def parsed(body: bytes) -> tuple[Any, bool]:
    """Return the message of a text, and whether it is JSON; strict JSON has a target of its own."""
    try:
        return parse_json(body), True
    except BadJson:
        return None, False


def written(value: Any) -> bytes:
    """Write JSON, also with what orjson refuses: a client may send integers of any size."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def is_plain_id(value: object) -> bool:
    return type(value) in (str, int)


def check_answer(answer: Mapping[str, Any]) -> None:
    """A response has an id and exactly one of result and error."""
    assert answer["jsonrpc"] == "2.0"
    assert answer["id"] is None or is_plain_id(answer["id"])
    assert len(answer.keys() & {"result", "error"}) == 1
    assert answer.keys() <= {"jsonrpc", "id", "result", "error"}
    if "error" in answer:
        assert answer["error"]["code"] in CODES
        assert isinstance(answer["error"]["message"], str)
    elif "content" in answer["result"]:
        check_result(answer["result"])


def check_result(result: Mapping[str, Any]) -> None:
    (block,) = result["content"]
    if "structuredContent" in result:
        assert json.loads(block["text"]) == result["structuredContent"]
        assert result["isError"] == ("error" in result["structuredContent"])
