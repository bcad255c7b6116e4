"""Says secrets where they do not belong, and keeps every word that comes back."""

from __future__ import annotations

import json
from typing import Any

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.security.attacked_team import AttackedTeam
from tests.security.test_bad_ids import ARGUMENTS, FREE


class SecretSpeaker:
    """Somebody who puts a secret into every place but the right one."""

    def __init__(self, team: AttackedTeam, session_token: str) -> None:
        self._cast = team
        self._session = session_token
        self.heard: list[str] = []

    def say(self, secret: str) -> None:
        """Use a secret as everything it is not."""
        with httpx.Client(base_url=self._cast.server.url, timeout=30) as client:
            self._to_tools(client, secret)
            self._to_the_protocol(client, secret)
            self._to_routes(client, secret)
            self._to_commands(client, secret)
        self._to_the_socket(secret)

    def _to_tools(self, client: httpx.Client, secret: str) -> None:
        for tool, name in ARGUMENTS:
            if (tool, name) not in FREE and name != "passkey":
                value = [secret] if name.endswith(("_ids", "dependencies")) else secret
                self._call(client, tool, {name: value, **_REST.get(tool, {})})
        for tool in ("create_task", "send_message", "authenticate", "help"):
            self._call(client, tool, {secret: secret})
        self._call(client, secret, {})
        login = {"agent_id": "ann", "passkey": f"{secret}x", "project_id": "p"}
        self._call(client, "authenticate", login)

    def _call(self, client: httpx.Client, tool: str, arguments: dict[str, Any]) -> None:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        self._post(client, "/mcp", json.dumps(message), self._session)

    def _to_the_protocol(self, client: httpx.Client, secret: str) -> None:
        for body in (
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": secret}),
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {secret: 1}}),
            json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": secret}),
            json.dumps({"jsonrpc": secret, "id": 1, "method": "ping"}),
            json.dumps({secret: secret}),
            f'{{"{secret}": 1, "{secret}": 2}}',
            f'{{"a": {secret}',
            secret,
        ):
            self._post(client, "/mcp", body, self._session)
            self._post(client, "/commands", body, self._cast.tokens["mia"])
            self._post(client, "/ag-ui/p/bob", body, self._cast.tokens["mia"])
            chat = "/api/projects/p/agents/ann/chat/messages"
            self._post(client, chat, body, self._cast.tokens["mia"])

    def _to_routes(self, client: httpx.Client, secret: str) -> None:
        person = {"authorization": f"Bearer {self._cast.tokens['mia']}"}
        for path in (
            f"/{secret}",
            f"/api/projects/{secret}/agents/ann/chat/messages",
            f"/api/projects/p/agents/{secret}/chat/messages",
            f"/api/projects/p/agents/ann/chat/messages?after={secret}",
            f"/api/projects/p/agents/ann/chat/search?q={secret}",
            f"/events?session={secret}",
            f"/events?{secret}=1",
            f"/ws?token={secret}",
            f"/metrics?token={secret}",
        ):
            self._keep(client.get(path, headers=person))
        for headers in (
            {"authorization": f"Basic {secret}"},
            {"authorization": f"Bearer {secret}x"},
            {"x-api-key": secret, "cookie": f"token={secret}", "user-agent": secret},
            {"origin": f"http://{secret}"},
            {"host": secret},
            {"mcp-session-id": secret, "mcp-protocol-version": secret},
        ):
            for path in ("/metrics", "/events", "/mcp", "/healthz"):
                self._keep(client.get(path, headers=headers))
                self._keep(client.post(path, headers=headers, content=b"{}"))

    def _to_commands(self, client: httpx.Client, secret: str) -> None:
        for order in (
            {"id": "1", "type": secret, "payload": {}},
            {"id": "2", "type": "openSession", "payload": {"projectId": secret, "agentId": secret}},
            {"id": "3", "type": "openSession", "payload": {"sessionId": secret}},
            {"id": "4", "type": "submitUserInput", "payload": {"sessionId": secret, "text": "x"}},
            {"id": "5", "type": "cancelRun", "payload": {secret: secret}},
            {
                "id": "6",
                "type": "provideConfirmation",
                "payload": {"confirmationId": secret, "approved": True},
            },
        ):
            self._post(client, "/commands", json.dumps(order), self._cast.tokens["mia"])

    def _to_the_socket(self, secret: str) -> None:
        ws = self._cast.server.ready["ws"]
        for frame in ({"type": "auth", "token": f"{secret}x"}, {"type": secret}, secret):
            with connect(ws, proxy=None) as wire:
                try:
                    wire.send(json.dumps(frame))
                    self.heard.append(str(wire.recv(timeout=30)))
                    self.heard.append(str(wire.recv(timeout=30)))
                except ConnectionClosed as closed:
                    self.heard.append(str(closed))
        try:
            with connect(f"{ws}?token={secret}", proxy=None) as wire:
                raise AssertionError(wire.recv(timeout=30))
        except InvalidStatus as refused:
            self.heard.append(bytes(refused.response.body or b"").decode())

    def _post(self, client: httpx.Client, path: str, body: str, token: str) -> None:
        headers = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        self._keep(client.post(path, content=body.encode(), headers=headers))

    def _keep(self, reply: httpx.Response) -> None:
        self.heard.append(f"{reply.status_code} {dict(reply.headers)} {reply.text}")


# What else a tool needs, so that the refusal is about the argument in question.
_REST: dict[str, dict[str, Any]] = {
    "authenticate": {},
    "send_message": {"content": "x"},
    "broadcast_message": {"content": "x"},
    "respond_chat": {"content": "x"},
    "start_conversation": {"initial_message": "x"},
    "send_conversation_message": {"content": "x"},
    "respond_conversation_message": {"content": "x"},
    "create_task": {"title": "x"},
    "request_task": {"title": "x"},
    "notify_task_session": {"message": "x"},
    "update_task_from_chat": {"title": "x"},
    "update_task_status": {"status": "todo"},
    "delegate_to_chat_session": {"purpose": "x"},
}
