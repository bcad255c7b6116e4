"""Knocks at a route in one state of a caller, and tells what came back as one word."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
from aipm_web_ui.files import Files
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.security.attacked_team import AttackedTeam

_PLACES = {
    "name": "list_tokens",
    "project_id": "p",
    "agent_id": "ann",
    "projectId": "p",
    "agentId": "bob",
    "version": Files().hash,
    "name:path": "js/main.js",
}


class Routes:
    """Every route, as somebody would use it who may."""

    def __init__(self, team: AttackedTeam) -> None:
        self._cast = team
        self._http = httpx.Client(base_url=team.server.url, timeout=30)
        self._agent = team.session("bob", "chat").token
        self.session_id = self.opened("mia")

    def opened(self, person: str) -> str:
        """Open a UI session for a person and return its id."""
        payload = {"projectId": "p", "agentId": "bob"}
        return str(self.command(person, "openSession", payload)["sessionId"])

    def command(self, person: str, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Give a command over HTTP."""
        order = {"id": secrets.token_hex(8), "type": kind, "payload": payload}
        headers = {"authorization": f"Bearer {self._cast.tokens[person]}"}
        return dict(self._http.post("/commands", json=order, headers=headers).json())

    def command_by_socket(self, person: str, kind: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Give a command over a WebSocket."""
        headers = {"authorization": f"Bearer {self._cast.tokens[person]}"}
        order = {"id": secrets.token_hex(8), "type": kind, "payload": payload}
        ws = self._cast.server.ready["ws"]
        with connect(ws, additional_headers=headers, proxy=None) as wire:
            wire.recv(timeout=30)
            wire.send(json.dumps(order))
            while True:
                frame: dict[str, Any] = json.loads(wire.recv(timeout=30))
                if frame.get("id") == order["id"]:
                    return frame

    def close(self) -> None:
        """Leave."""
        self._http.close()

    def attempt(self, route: str, state: str) -> set[str]:
        """Use a route in a state, in all its forms; return ``ok`` or the code of the refusal."""
        method, path = route.split(" ")
        for place, value in _PLACES.items():
            path = path.replace(f"{{{place}}}", value)
        shown = self._shown(state)
        if path == "/api/logout" and state in ("right", "beside", "elsewhere"):
            shown = iter([([("authorization", f"Bearer {self._logged_in(state)}")], {})])
        return {self._once(method, path, headers, query) for headers, query in shown}

    def _logged_in(self, state: str) -> str:
        """Return a token that nobody else needs."""
        person = {"right": "mia", "beside": "max", "elsewhere": "quentin"}[state]
        login = {"agent_id": person, "passkey": self._cast.passkeys[person]}
        return str(self._http.post("/api/login", json=login).json()["token"])

    def _once(
        self, method: str, path: str, headers: list[tuple[str, str]], query: dict[str, str]
    ) -> str:
        if method == "WEBSOCKET":
            return self._by_socket(path, headers, query)
        body, more = self._content(method, path)
        address = httpx.URL(path, params={**more, **query})
        sent = {"POST": "POST", "*": "POST"}.get(method, method)
        with self._http.stream(sent, address, headers=headers, json=body) as reply:
            if reply.is_success and path.endswith(("/events", "/stream")):
                next(reply.iter_raw())  # it never ends
                return "ok"
            told = reply.read()
            return "ok" if reply.is_success else _code(told)

    def _content(self, method: str, path: str) -> tuple[Any, dict[str, str]]:
        login = {"agent_id": "mia", "passkey": self._cast.passkeys["mia"]}
        plain = {"/api/login": login, "/api/tools/list_tokens": {}}
        if path.startswith("/api/runner/"):
            return _of_a_runner(path), {}
        return (plain[path], {}) if path in plain else self._of_people(method, path)

    def _of_people(self, method: str, path: str) -> tuple[Any, dict[str, str]]:
        if path == "/mcp":
            return {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {}
        if path == "/commands":
            payload = {"projectId": "p", "agentId": "bob"}
            return {"id": secrets.token_hex(8), "type": "openSession", "payload": payload}, {}
        if path.startswith("/ag-ui"):
            thread = self.session_id if path == "/ag-ui" else f"t{secrets.token_hex(4)}"
            return _run(thread), {}
        if path == "/events":
            return None, {"session": self.session_id}
        if path.endswith("/search"):
            return None, {"q": "hello"}
        return ({"content": "hello"}, {}) if method == "POST" else (None, {})

    def _shown(self, state: str) -> Iterator[tuple[list[tuple[str, str]], dict[str, str]]]:
        """Give the headers and the query of a state."""
        team, right = self._cast, f"Bearer {self._cast.tokens['mia']}"
        if state == "malformed":
            for value in ("Bearer", f"Basic {right[7:]}", right[:-1], right[7:], "Bearer a b"):
                yield [("authorization", value)], {}
            return
        values = {
            "nobody": [],
            "doubled": [right, right],
            "unknown": [f"Bearer aipm_ui_{secrets.token_urlsafe(32)}"],
            "expired": [f"Bearer {team.tokens['expired']}"],
            "revoked": [f"Bearer {team.tokens['revoked']}"],
            "passkey": [f"Bearer {team.passkeys['mia']}"],
            "session": [f"Bearer {self._agent}"],
            "address": [],
            "elsewhere": [f"Bearer {team.tokens['quentin']}"],
            "beside": [f"Bearer {team.tokens['max']}"],
        }.get(state, [right])
        headers = [("authorization", value) for value in values]
        if state == "host":
            headers.append(("host", "rebound.example"))
        if state == "origin":
            headers.append(("origin", "https://evil.example"))
        yield headers, {"token": team.tokens["mia"]} if state == "address" else {}

    def _by_socket(self, path: str, headers: list[tuple[str, str]], query: dict[str, str]) -> str:
        port = urlsplit(self._cast.server.url).port or 0
        host = dict(headers).get("host", "127.0.0.1")
        sent = [(name, value) for name, value in headers if name not in ("host", "origin")]
        address = httpx.URL(f"ws://{host}:{port}{path}", params=query)
        origin: Any = dict(headers).get("origin")
        raw = socket.create_connection(("127.0.0.1", port))
        try:
            with connect(
                str(address), sock=raw, additional_headers=sent, origin=origin, proxy=None
            ) as wire:
                frame = json.loads(wire.recv(timeout=30))
        except InvalidStatus as refused:
            return _code(bytes(refused.response.body or b""))
        finally:
            raw.close()
        return "ok" if frame["type"] == "ready" else str(frame["code"])


def _of_a_runner(path: str) -> dict[str, Any]:
    """Return what a runner on another machine says."""
    more: dict[str, dict[str, Any]] = {
        "claim": {"machine": "m", "room": 1, "project_id": "p"},
        "native": {"tool": "Bash", "arguments": {}},
        "place": {"workspace": "/w"},
        "reports": {"reports": []},
    }
    return {"owner": "rnr_1", **more.get(path.rpartition("/")[2], {})}


def _code(body: bytes) -> str:
    told = json.loads(body)
    return str(told["error"]["code"] if "error" in told else told["code"])


def _run(thread: str) -> dict[str, Any]:
    message = {"id": secrets.token_hex(4), "role": "user", "content": "hello"}
    return {
        "threadId": thread,
        "runId": secrets.token_hex(4),
        "state": {},
        "messages": [message],
        "tools": [],
        "context": [],
        "forwardedProps": {},
    }
