"""The stage: a directory of its own, the real server, agents that come in through MCP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aipm_devkit.program import Install, Server

from aipm_core import StartupError
from aipm_demo.output import Narrator, Step

if TYPE_CHECKING:
    from mcp import Client

SETTINGS = """\
locale = "{locale}"
[[plugins.policy.rules]]
tool = "broadcast_message"
decision = "REQUIRE_USER_CONFIRMATION"
level = "WARN"
"""
TEAM = (
    ("anna", "--type", "human", "--role", "manager"),
    ("worker-1", "--parent", "anna"),
    ("worker-2", "--parent", "anna"),
)


class DemoFailed(StartupError):
    """Something did not happen as it must."""

    exit_code = 1


@dataclass
class Actor:
    """One scripted agent in one session."""

    name: str
    client: Client
    stage: Stage
    token: str = ""

    async def log_in(self, purpose: str) -> dict[str, Any]:
        """Open a session."""
        login = {"agent_id": self.name, "passkey": self.stage.passkeys[self.name]}
        opened: dict[str, Any] = await self.call(
            "authenticate", **login, project_id="demo", purpose=purpose
        )
        self.token = opened["session_token"]
        return opened

    async def call(self, tool: str, **arguments: Any) -> Any:  # noqa: ANN401
        """Call a tool; return its result, or the text that replaced the reply."""
        self.stage.narrator.state(self.name, tool)
        given = {**arguments, "session_token": self.token} if self.token else arguments
        reply = await self.client.call_tool(tool, given)
        if reply.structured_content is None:
            return getattr(reply.content[0], "text", "")
        if reply.is_error:
            error = reply.structured_content["error"]
            raise DemoFailed(f"{self.name}: {tool} was refused: {error['message']}")
        return reply.structured_content["result"]

    async def say(self, act: str, text: str, detail: str = "") -> None:
        """Tell what this agent just did."""
        await self.stage.tell(act, self.name, text, detail)


@dataclass
class Stage:
    """Everything the acts need."""

    install: Install
    narrator: Narrator
    pause: float
    passkeys: dict[str, str] = field(default_factory=dict)
    server: Server | None = None

    async def tell(self, act: str, who: str, text: str, detail: str = "") -> None:
        """Tell one step and give the audience time to read it."""
        self.narrator.tell(Step(act, who, text, detail))
        await asyncio.sleep(self.pause)

    async def command(self, *arguments: str) -> Any:  # noqa: ANN401
        """Run ``aipm …`` as a person would, in another process."""
        done = await asyncio.to_thread(self.install.run, *arguments, "--json")
        return json.loads(done.stdout)["data"]

    @asynccontextmanager
    async def actors(self, *names: str) -> AsyncGenerator[list[Actor]]:
        """Connect agents, each over a connection of its own."""
        from mcp import Client

        if self.server is None:
            raise DemoFailed("the server is not running")
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(Client(self.server.mcp)) for _ in names]
            yield [Actor(name, client, self) for name, client in zip(names, clients, strict=True)]


async def prepare(root: Path, narrator: Narrator, *, locale: str, pause: float) -> Stage:
    """Set up a project and its team."""
    stage = Stage(Install.make(root, SETTINGS.format(locale=locale)), narrator, pause)
    await stage.command("project", "add", "demo", "--dir", "work")
    for name, *options in TEAM:
        made = await stage.command("agent", "add", name, "--project", "demo", *options)
        stage.passkeys[name] = made["passkey"]
    return stage
