"""A server with a project, agents that call over MCP and people that call over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aipm_devkit.program import Install, Server

_PATIENCE = 60.0  # seconds


class Refused(AssertionError):
    """A call that a test took for granted was refused."""


@dataclass
class Started:
    """A running server and the directory it runs in."""

    install: Install
    server: Server

    @classmethod
    def make(
        cls,
        running: ExitStack,
        root: Path,
        toml: str,
        options: Iterable[str],
        environ: Mapping[str, str],
    ) -> Started:
        """Start a server that ends with ``running``."""
        install = Install.make(root, toml)
        install.environ |= environ
        return cls(install, running.enter_context(install.up(*options)))


@dataclass
class Caller:
    """An agent or a person with a token."""

    url: str
    token: str = ""

    def call(self, tool: str, /, **arguments: Any) -> Any:  # noqa: ANN401
        """Call a tool; return its result, or raise ``Refused`` with the server's words."""
        envelope = self.envelope(tool, **arguments)
        if "result" not in envelope:
            raise Refused(f"{tool}: {json.dumps(envelope, ensure_ascii=False)}")
        return envelope["result"]

    def envelope(self, tool: str, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Call a tool; return the whole answer: ``result`` or ``error``, and what stands beside."""
        raise NotImplementedError

    def _post(self, path: str, body: Any) -> Any:  # noqa: ANN401
        place = urlsplit(self.url)
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        headers |= {"authorization": f"Bearer {self.token}"} if self.token else {}
        connection = HTTPConnection(place.netloc, timeout=_PATIENCE)
        try:
            connection.request("POST", path, json.dumps(body), headers)
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        return json.loads(text.strip().split("\n")[-1].removeprefix("data: "))


class TestAgent(Caller):
    """An agent: every call is one of MCP."""

    __test__ = False

    def envelope(self, tool: str, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Call one of agents' tools."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self._post(urlsplit(self.url).path, message)
        if "error" in answer:
            return {"error": answer["error"]}
        result = answer["result"]
        if "structuredContent" not in result:
            return {"replaced": result["content"][0]["text"]}
        envelope: dict[str, Any] = result["structuredContent"]
        return envelope


class TestPerson(Caller):
    """A person: every call is one of ``/api/tools``."""

    __test__ = False

    def envelope(self, tool: str, /, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401
        """Call one of people's tools."""
        envelope: dict[str, Any] = self._post(f"/api/tools/{tool}", arguments)
        return envelope


@dataclass
class TestTeam:
    """A project ``p`` on a running server, and whoever is in it."""

    __test__ = False

    started: Started
    passkeys: dict[str, str] = field(default_factory=dict)

    @classmethod
    def make(cls, started: Started, agents: Iterable[str], people: Iterable[str]) -> TestTeam:
        """Add the project and its members; people are managers."""
        team, install = cls(started), started.install
        install.run("project", "add", "p", "--dir", "work")
        for agent in agents:
            team.passkeys[agent] = install.json("agent", "add", agent, "--project", "p")["passkey"]
        for person in people:
            what = ("--project", "p", "--type", "human", "--role", "manager")
            team.passkeys[person] = install.json("agent", "add", person, *what)["passkey"]
        return team

    @property
    def url(self) -> str:
        """The address of the server."""
        return self.started.server.url

    def agent(self, name: str, purpose: str = "task") -> TestAgent:
        """Log an agent in."""
        agent = TestAgent(self.started.server.mcp)
        login = {"agent_id": name, "passkey": self.passkeys[name], "project_id": "p"}
        agent.token = agent.call("authenticate", **login, purpose=purpose)["session_token"]
        return agent

    def person(self, name: str) -> TestPerson:
        """Log a person in."""
        token = self.started.install.json("token", "create", "--agent", name)["token"]
        return TestPerson(self.url, token)

    def page_of(self, person: str) -> str:
        """Return an address that opens the page, logged in, once."""
        made = self.started.install.json("open", "--as", person)
        return str(made["url"])
