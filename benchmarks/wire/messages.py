"""What is said on the wire: JSON-RPC messages, and how they differ by the protocol's era."""

import json
from collections.abc import Mapping
from typing import Any, Literal, Protocol

Era = Literal["session", "modern", "plain"]  # MCP with a session, MCP 2026-07-28, not MCP at all
Message = dict[str, Any]
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO: Message = {
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
GREETED: Message = {"method": "notifications/initialized"}


class Channel(Protocol):
    """A way to a server."""

    async def ask(self, message: Message) -> Any:
        """Send a request; return the result."""

    async def tell(self, frame: bytes) -> bool:
        """Send a framed request; return whether the answer was no error."""

    def frame(self, message: Message) -> bytes:
        """Return a request, ready to be sent again and again."""

    def close(self) -> None:
        """End it."""


def tool(name: str, /, **arguments: Any) -> Message:
    """Return the call of a tool."""
    return {"method": "tools/call", "params": {"name": name, "arguments": arguments}}


def encode(message: Message, number: int = 1) -> bytes:
    """Return the bytes of a request, or of a notification."""
    numbered = {} if message["method"].startswith("notifications/") else {"id": number}
    return json.dumps({"jsonrpc": "2.0", **numbered, **message}).encode()


def content(result: Mapping[str, Any]) -> Any:
    """Return what a tool answered."""
    if "structuredContent" in result:
        return result["structuredContent"]
    return json.loads(result["content"][0]["text"])


def is_error(body: bytes) -> bool:
    """Return whether an answer is a refusal, without reading all of it."""
    return b'"isError":true' in body or b'"isError": true' in body or b'"error":' in body
