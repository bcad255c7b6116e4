"""An agent as the server meets it: one HTTP request a call, over a real socket."""

import json
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from aipm_devkit.program import Install

PATIENCE = 30.0


class Agent:
    """Calls tools of a server; raises ``OSError`` or ``HTTPException`` when the server is gone."""

    def __init__(self, mcp: str, token: str | None = None, **headers: str) -> None:
        self._mcp = urlsplit(mcp)
        self._headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            **headers,
        }
        self.token = token

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the envelope of a reply; a replaced one as ``{"replaced": text}``."""
        if self.token is not None:
            arguments = {"session_token": self.token, **arguments}
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self._post(json.dumps(message))
        if "error" in answer:
            return {"error": answer["error"]}
        result: dict[str, Any] = answer["result"]
        if "structuredContent" not in result:
            return {"replaced": result["content"][0]["text"]}
        envelope: dict[str, Any] = result["structuredContent"]
        return envelope

    def _post(self, body: str) -> dict[str, Any]:
        connection = HTTPConnection(self._mcp.netloc, timeout=PATIENCE)
        try:
            connection.request("POST", self._mcp.path, body, self._headers)
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        last = text.strip().split("\n")[-1]  # of a stream of events: the answer comes last
        answer: dict[str, Any] = json.loads(last.removeprefix("data: "))
        return answer

    def result(self, tool: str, **arguments: Any) -> Any:
        """Return the result of a call that must succeed."""
        envelope = self.call(tool, **arguments)
        assert "result" in envelope, envelope
        return envelope["result"]


def team(install: Install, *agents: str, directory: str | None = "work") -> dict[str, str]:
    """Set up project ``p`` with the named agents; return their passkeys."""
    install.run("project", "add", "p", *(("--dir", directory) if directory else ()))
    return {
        agent: install.json("agent", "add", agent, "--project", "p")["passkey"] for agent in agents
    }


def log_in(mcp: str, agent: str, passkey: str, purpose: str = "chat") -> Agent:
    """Open a session."""
    made = Agent(mcp)
    login = {"agent_id": agent, "passkey": passkey, "project_id": "p", "purpose": purpose}
    made.token = made.result("authenticate", **login)["session_token"]
    return made
