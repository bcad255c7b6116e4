"""People and agents who talk to one server over every transport, and count what they receive."""

import json
import random
import secrets
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableSequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from aipm_devkit.program import Install, Server
from aipm_ui_gateway.client.ui_client import connected
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from aipm_core import Json

PATIENCE = 120.0  # seconds: two hundred of them start at once, in one process
AIPM = Path(sys.executable).with_name("aipm")


class Participant:
    """Somebody with a secret of their own, and every byte they received."""

    def __init__(self, install: Install, number: int, project: str, secret: str) -> None:
        self.install = install
        self.project = project
        self.secret = secret  # the token of a person, the passkey of an agent
        self.number = number
        self.canary = f"canary-{secrets.token_hex(16)}"
        self.received: MutableSequence[str] = []
        self.turns = 0
        self.events = 0
        self.done: Callable[[], None] = lambda: None  # told of every turn

    def heard(self, what: Json) -> Any:
        self.received.append(what if isinstance(what, str) else json.dumps(what))
        return what

    async def take_part(self, server: Server, turns: int) -> None:
        raise NotImplementedError


class Talker(Participant):
    """A person in a user interface."""

    session = ""
    seen = 0

    @asynccontextmanager
    async def online(self, server: Server) -> AsyncGenerator[None]:
        raise NotImplementedError
        yield

    command: Callable[[str, Mapping[str, Json]], Awaitable[Mapping[str, Json]]]
    next: Callable[[], Awaitable[Mapping[str, Json]]]

    async def take_part(self, server: Server, turns: int) -> None:
        left = turns
        while left > 0:  # every few turns the connection breaks and is taken up again
            until = max(0, left - random.randint(2, 6))
            async with self.online(server):
                for _ in range(left - until):
                    await self.turn()
            left = until

    async def turn(self) -> None:
        text = random.choice(
            [
                f"hello {self.canary}",
                f'!call file:read {{"path": "{self.canary}.txt"}}',
                f'!call file:read {{"path": "missing-{self.canary}"}}',
                f'!call no_such_tool {{"x": "{self.canary}"}}',
            ]
        )
        ack = await self.command("submitUserInput", {"sessionId": self.session, "text": text})
        assert ack["type"] == "ack", ack
        while True:
            frame = self.counted(await self.next())
            if frame["type"] == "onToolCallRequest":
                await self.command(
                    "provideConfirmation",
                    {
                        "confirmationId": frame["payload"]["confirmationId"],
                        "approved": random.random() < 0.5,
                        "reason": self.canary,
                    },
                )
            if frame["payload"].get("state") == "waiting_for_input":
                self.turns += 1
                self.done()
                return

    def counted(self, frame: Mapping[str, Json]) -> Mapping[str, Json]:
        """Check that no event of the session is missing, doubled or somebody else's."""
        if frame["scope"] == "session":
            assert frame["payload"]["sessionId"] == self.session
            assert frame["seq"] == self.seen + 1, (self.seen, frame)
            self.seen = frame["seq"]
            self.events += 1
        return frame


class OverWebSocket(Talker):
    @asynccontextmanager
    async def online(self, server: Server) -> AsyncGenerator[None]:
        async with connected(server.ready["ws"], self.secret, seconds=PATIENCE) as ui:

            async def command(kind: str, payload: Mapping[str, Json]) -> Mapping[str, Json]:
                return dict(self.heard(await ui.command(kind, payload)))

            async def receive() -> Mapping[str, Json]:
                return dict(self.heard(await ui.event()))

            self.command, self.next = command, receive
            opening: dict[str, Json] = {"projectId": self.project, "agentId": f"bot-{self.project}"}
            if self.session:
                opening = {"sessionId": self.session, "lastSeq": self.seen}
            self.session = (await command("openSession", opening))["sessionId"]
            yield
            ui.socket.transport.abort()


class OverEventStream(Talker):
    @asynccontextmanager
    async def online(self, server: Server) -> AsyncGenerator[None]:
        headers = {"Authorization": f"Bearer {self.secret}"}
        async with httpx.AsyncClient(
            base_url=server.url, headers=headers, timeout=PATIENCE
        ) as client:

            async def command(kind: str, payload: Mapping[str, Json]) -> Mapping[str, Json]:
                order = {"id": secrets.token_hex(8), "type": kind, "payload": payload}
                return dict(self.heard((await client.post("/commands", json=order)).json()))

            self.command = command
            if not self.session:
                opening = {"projectId": self.project, "agentId": f"bot-{self.project}"}
                self.session = (await command("openSession", opening))["sessionId"]
            query = {"session": self.session, "lastSeq": str(self.seen)}
            async with client.stream("GET", "/events", params=query) as response:
                lines = response.aiter_lines()

                async def receive() -> Mapping[str, Json]:
                    while not (line := self.heard(await anext(lines))).startswith("data: "):
                        pass
                    return dict(json.loads(line[6:]))

                self.next = receive
                yield


class OverMcp(Participant):
    """An agent with a project of its own."""

    def client(self, server: Server) -> Client:
        return Client(server.mcp)

    async def take_part(self, server: Server, turns: int) -> None:
        async with self.client(server) as client:
            login = {
                "agent_id": f"agent{self.number}",
                "passkey": self.secret,
                "project_id": self.project,
                "purpose": "task",
            }
            opened = await client.call_tool("authenticate", login)
            token = (opened.structured_content or {})["result"]["session_token"]
            for _ in range(turns):
                for tool, arguments in (
                    ("create_task", {"title": self.canary, "description": self.canary}),
                    ("list_tasks", {}),
                    ("update_task_status", {"task_id": self.canary, "status": "done"}),
                ):
                    given = {**arguments, "session_token": token}
                    result = await client.call_tool(tool, given)
                    self.heard(result.model_dump_json())
                    self.events += 1
                self.turns += 1
                self.done()


class OverMcpStdio(OverMcp):
    def client(self, server: Server) -> Client:
        process = StdioServerParameters(
            command=str(AIPM), args=["mcp"], cwd=str(self.install.root), env=self.install.env()
        )
        return Client(stdio_client(process))
