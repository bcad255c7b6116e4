"""A running program with two projects and their people, and clients that log in."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
from aipm_devkit.program import Install, Server
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions

# id: project, kind, role, parent
MEMBERS = {
    "mia": ("shop", "human", "manager", None),
    "max": ("shop", "human", "worker", None),
    "bot": ("shop", "ai", "worker", "mia"),
    "ant": ("shop", "ai", "worker", "mia"),
    "eve": ("other", "human", "manager", None),
    "spy": ("other", "ai", "worker", None),
}


@dataclass
class House:
    """An installation, its server and everybody's secrets."""

    install: Install
    server: Server
    passkeys: dict[str, str]

    def http(self, token: str | None = None) -> httpx.Client:
        """Return a client of the API."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=f"{self.server.url}/api", headers=headers, timeout=30)

    def token(self, person: str) -> str:
        """Log a person in."""
        with self.http() as http:
            login = {"agent_id": person, "passkey": self.passkeys[person]}
            reply = http.post("/login", json=login)
        assert reply.status_code == 200, reply.text
        return str(reply.json()["token"])

    @contextmanager
    def person(self, name: str) -> Iterator[Person]:
        """Be a person who is logged in."""
        with self.http(self.token(name)) as http:
            yield Person(http)

    def agent(self, agent_id: str, purpose: str = "chat") -> dict[str, Any]:
        """Log an agent in over MCP; return what it is told."""
        login = {"agent_id": agent_id, "passkey": self.passkeys[agent_id], "purpose": purpose}
        return dict(self.mcp("authenticate", **login, project_id=MEMBERS[agent_id][0])["result"])

    def sessions(self, agent_id: str) -> list[str]:
        """List the ids of an agent's open sessions."""
        database = self.install.root / ".aipm-data/aipm.db"
        with closing(sqlite3.connect(database, timeout=30)) as connection:
            sql = "select id from sessions where agent_id = ? and ended_at is null"
            return [row[0] for row in connection.execute(sql, (agent_id,))]

    def mcp(self, tool: str, token: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Call an agents' tool."""
        given = {**arguments, **({"session_token": token} if token else {})}
        params = {"name": tool, "arguments": given}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        accept = {"accept": "application/json, text/event-stream"}
        reply = httpx.post(self.server.mcp, json=message, headers=accept, timeout=30).json()
        told: dict[str, Any] = reply["result"].get("structuredContent") or {}
        return told or {"replaced": reply["result"]["content"][0]["text"]}


@dataclass
class Person:
    """A person's program: calls tools."""

    http: httpx.Client

    def call(self, tool: str, /, key: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        reply = self.post(tool, key, **arguments)
        assert reply.status_code == 200, reply.text
        assert reply.json().keys() == {"result"}
        return dict(reply.json()["result"])

    def refused(self, tool: str, /, key: str | None = None, **arguments: Any) -> tuple[int, str]:
        """Call a tool that refuses; return status and code."""
        reply = self.post(tool, key, **arguments)
        assert reply.json().keys() == {"error"}, reply.text
        error = reply.json()["error"]
        assert error["status"] == reply.status_code
        assert error["message"]
        return reply.status_code, error["code"]

    def post(self, tool: str, key: str | None = None, /, **arguments: Any) -> httpx.Response:
        """Send a call."""
        headers = {"idempotency-key": key} if key else {}
        return self.http.post(f"/tools/{tool}", json=arguments, headers=headers)

    def names(self) -> set[str]:
        """List the tools this person may use."""
        return {tool["name"] for tool in self.http.get("/tools").json()["tools"]}


@contextmanager
def house(root: Path, toml: str = "") -> Iterator[House]:
    """Run the program with its people."""
    install = Install.make(root, toml)
    passkeys = anyio.run(_moved_in, root)
    with install.up() as server:
        yield House(install, server, passkeys)
    assert "Traceback" not in server.log, server.log


async def _moved_in(root: Path) -> dict[str, str]:
    passkeys: dict[str, str] = {}
    async with running(Sessions, data_dir=root / ".aipm-data") as aipm:
        administration = aipm.runtime.services.use(ADMINISTRATION)
        for project in ("shop", "other"):
            await administration.add_project(project, project, root / project)
        for name, (project, kind, role, parent) in MEMBERS.items():
            about: dict[str, Any] = {"kind": kind, "role": role, "parent": parent}
            made = await administration.add_agent(
                name, project_id=project, name=name.title(), **about
            )
            passkeys[name] = made[1]
    return passkeys
