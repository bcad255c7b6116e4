"""Somebody who calls a server over and over."""

from __future__ import annotations

import secrets
from typing import Any

import httpx

from tests.security.attacked_team import AttackedTeam


def call_of(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the message that calls a tool."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


class Caller:
    """Somebody with a connection that stays open."""

    def __init__(self, team: AttackedTeam, token: str) -> None:
        headers = {
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
        }
        self._http = httpx.Client(base_url=team.server.url, timeout=60, headers=headers)

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; return ``ok`` or the code."""
        reply = self._http.post("/mcp", json=call_of(tool, **arguments)).json()["result"][
            "structuredContent"
        ]
        return "ok" if "result" in reply else str(reply["error"]["code"])

    def command(self) -> str:
        """Give a command; return ``ok`` or the code."""
        payload = {"projectId": "p", "agentId": "bob"}
        order = {"id": secrets.token_hex(8), "type": "openSession", "payload": payload}
        reply = self._http.post("/commands", json=order)
        assert reply.status_code in {200, 429}
        return "ok" if reply.is_success else str(reply.json()["code"])

    def close(self) -> None:
        self._http.close()
