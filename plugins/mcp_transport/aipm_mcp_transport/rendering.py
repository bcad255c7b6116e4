"""Tools and replies in the protocol's shapes.

Claude Code and Codex show a model only ``structuredContent``, Gemini CLI only the text; so both
always hold the same object, errors included. There is no ``outputSchema``: Gemini CLI would check
even error results against it.
"""

from __future__ import annotations

from collections.abc import Iterator

import orjson

from aipm_core import AnyTool, Gateway, Json, Reply
from aipm_mcp_transport.elicitation import input_required
from aipm_mcp_transport.protocol import INVALID_PARAMS, ServerInfo, error_of


def definitions(gateway: Gateway) -> Iterator[dict[str, Json]]:
    """Describe every tool offered to agents, by name."""
    for tool in gateway.catalog():
        yield {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": dict(gateway.schema(tool.name)),
            "annotations": _annotations(tool),
        }


def _annotations(tool: AnyTool) -> dict[str, Json]:
    """Say what a client asks a person about: Codex runs nothing unasked that may reach the world.

    A hint left out means the worst, except for tools that only read.
    """
    hints: dict[str, Json] = {
        "readOnlyHint": tool.read_only,
        "destructiveHint": tool.destructive,
        "idempotentHint": tool.idempotent or tool.read_only,
    }
    return hints if tool.read_only else {**hints, "openWorldHint": False}


def outcome(reply: Reply, server_info: ServerInfo, *, modern: bool) -> dict[str, Json]:
    """Return the ``result`` or ``error`` member that carries a reply."""
    if reply.error is not None and reply.error.code == "tool_not_found":
        return error_of(INVALID_PARAMS, reply.error.message, {"code": reply.error.code})
    if reply.question is not None:
        asked = server_info.modern(input_required(reply.question))
        return {"result": {**asked, "resultType": "input_required"}}
    result = call_result(reply)
    return {"result": server_info.modern(result) if modern else result}


def call_result(reply: Reply) -> dict[str, Json]:
    """Return the result of ``tools/call``: one object in both places, or one text alone."""
    if reply.replaced is not None:
        return {"content": [{"type": "text", "text": reply.replaced}], "isError": False}
    envelope = reply.envelope()
    return {
        "content": [{"type": "text", "text": orjson.dumps(envelope).decode()}],
        "structuredContent": envelope,
        "isError": reply.error is not None,
    }
