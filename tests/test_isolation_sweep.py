"""The canary sweep: many sessions over every transport, and nobody ever sees another's words."""

import json
import random
import re
import secrets
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from aipm_sessions.plugin import REGISTRY, Sessions
from aipm_ui_gateway.client import connected
from aipm_ui_gateway.plugin import UiGateway
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from aipm_core import Json
from aipm_core.testing import running
from aipm_core.testkit import Install, Server

CANARY = re.compile(r"canary-[0-9a-f]{32}")
SETTINGS = """
[[plugins.policy.rules]]
tool = "file:*"
decision = "REQUIRE_USER_CONFIRMATION"
"""
AIPM = Path(sys.executable).with_name("aipm")


class Participant:
    """Somebody with a secret of their own, and every byte they received."""

    def __init__(self, install: Install, number: int, secret: str) -> None:
        self.install = install
        self.secret = secret  # the token of a person, the passkey of an agent
        self.number = number
        self.canary = f"canary-{secrets.token_hex(16)}"
        self.received: list[str] = []
        self.turns = 0

    def heard(self, what: Json) -> Any:
        self.received.append(what if isinstance(what, str) else json.dumps(what))
        return what

    async def take_part(self, server: Server, turns: int) -> None:
        raise NotImplementedError


class Talker(Participant):
    """A person in a user interface."""

    session = ""
    seen = 0

    @property
    def project(self) -> str:
        return f"p{self.number % 4}"

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
            frame = await self.next()
            assert frame["payload"]["sessionId"] == self.session
            assert frame["seq"] == self.seen + 1
            self.seen = frame["seq"]
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
                return


class OverWebSocket(Talker):
    @asynccontextmanager
    async def online(self, server: Server) -> AsyncGenerator[None]:
        async with connected(server.ready["ws"], self.secret) as ui:

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
        async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=30) as client:

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
                "project_id": f"m{self.number}",
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
                self.turns += 1


class OverMcpStdio(OverMcp):
    def client(self, server: Server) -> Client:
        process = StdioServerParameters(
            command=str(AIPM), args=["mcp"], cwd=str(self.install.root), env=self.install.env()
        )
        return Client(stdio_client(process))


async def team(install: Install, talkers: int, agents: int) -> list[Participant]:
    """Add people who share four projects, and agents with a project each."""
    made: list[Participant] = []
    async with running(Sessions, UiGateway, data_dir=install.root / ".aipm-data") as aipm:
        registry = aipm.runtime.services.use(REGISTRY)
        bot: dict[str, Any] = {"name": "x", "kind": "ai", "role": "worker", "parent": None}
        for number in range(4):
            await registry.add_project(f"p{number}", "p", install.root / f"p{number}")
            await registry.add_agent(f"bot-p{number}", project_id=f"p{number}", **bot)
        for number in range(talkers):
            name, human = f"human{number}", {**bot, "kind": "human"}
            await registry.add_agent(name, project_id=f"p{number % 4}", **human)
            token = (await registry.add_token(name))["token"]
            way = (OverWebSocket, OverEventStream)[number % 2]
            made.append(way(install, number, token))
        for number in range(talkers, talkers + agents):
            await registry.add_project(f"m{number}", "m", None)
            _, key = await registry.add_agent(f"agent{number}", project_id=f"m{number}", **bot)
            made.append((OverMcp, OverMcpStdio)[number % 2](install, number, key))
    for talker in made[:talkers]:
        place = install.root / f"p{talker.number % 4}" / f"{talker.canary}.txt"
        place.write_text(talker.canary, encoding="utf-8")
    return made


@pytest.mark.parametrize(
    ("talkers", "agents", "turns"),
    [(16, 4, 25), pytest.param(190, 10, 25, marks=[pytest.mark.long, pytest.mark.timeout(1800)])],
)
async def test_nobody_ever_receives_another_sessions_words(
    tmp_path: Path, talkers: int, agents: int, turns: int
) -> None:
    install = Install.make(tmp_path, SETTINGS)
    everybody = await team(install, talkers, agents)
    logs = []
    for part in (turns // 2, turns - turns // 2):  # the server restarts in the middle
        with install.up() as server:
            async with anyio.create_task_group() as tasks:
                for participant in everybody:
                    tasks.start_soon(participant.take_part, server, part)
        logs.append(server.log)
    for participant in everybody:
        assert participant.turns == turns
        found = set(CANARY.findall("".join(participant.received)))
        assert found == {participant.canary}
    assert CANARY.findall("".join(logs)) == []
