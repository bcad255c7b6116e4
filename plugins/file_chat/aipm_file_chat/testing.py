"""For tests of plugins that talk: a real runtime with a project, its members and their files."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from aipm_devkit.testing import TestRuntime, running
from aipm_sessions.plugin import Sessions

from aipm_core import Json, Kind, PluginClass, Purpose, Reply, Role, Session, Tx
from aipm_file_chat.plugin import FileChat

PROJECT = "p"


class Team:
    """A project ``p`` with members, and short ways to act as one of them."""

    def __init__(self, aipm: TestRuntime, directory: Path | None) -> None:
        self.aipm = aipm
        self.store = aipm.runtime.store
        self.directory = directory

    async def add(
        self,
        *agent_ids: str,
        kind: Kind = "ai",
        role: Role = "worker",
        parent: str | None = None,
        project: str = PROJECT,
    ) -> None:
        """Add members without passkeys, so that no time goes into hashing them."""

        async def insert(tx: Tx) -> None:
            for agent_id in agent_ids:
                await tx.run(
                    "insert into agents (id, name, kind, role, parent_id, passkey_hash, "
                    "created_at) values (?, ?, ?, ?, ?, '', '')",
                    *(agent_id, agent_id, kind, role, parent),
                )
                await tx.run("insert into project_agents values (?, ?)", project, agent_id)

        await self.store.write(insert)

    async def add_project(self, project: str, directory: Path | None) -> None:
        """Add a project; its directory is made."""
        if directory is not None:
            await anyio.Path(directory).mkdir(parents=True, exist_ok=True)
        place = str(directory) if directory else None
        await self.store.write(
            lambda tx: tx.run(
                "insert into projects (id, name, directory, created_at) values (?, ?, ?, '')",
                project,
                project,
                place,
            )
        )

    def session(self, agent_id: str, purpose: Purpose = "chat") -> Session:
        """Return a session of an agent."""
        name = f"s-{agent_id}-{purpose}"
        return Session(id=name, agent_id=agent_id, project_id=PROJECT, purpose=purpose)

    async def call(self, tool: str, agent_id: str, /, **arguments: Json) -> Reply:
        """Call a tool from an agent's chat session."""
        return await self.aipm.call(tool, self.session(agent_id), **arguments)

    async def say(self, sender: str, receiver: str, content: str, **more: Json) -> str:
        """Send a message and return its id."""
        reply = await self.call(
            "send_message", sender, target_agent_id=receiver, content=content, **more
        )
        assert reply.error is None, reply.error  # noqa: S101 - a helper of tests
        message_id: str = reply.result["message_id"]
        return message_id

    async def tell(self, sender: str, receiver: str, content: str, **more: Json) -> str:
        """Send a message that the receiver's chat session then reads; return its id."""
        message_id = await self.say(sender, receiver, content, **more)
        await self.call("get_pending_messages", receiver, limit=100)
        return message_id

    def file(self, agent_id: str) -> Path:
        """Return the path of an agent's chat file."""
        return file_in(self.directory or Path(), agent_id)

    def lines(self, agent_id: str) -> list[dict[str, Any]]:
        """Read an agent's chat file strictly: every line must be whole."""
        return lines_of(self.file(agent_id))


def file_in(directory: Path, agent_id: str) -> Path:
    """Return the path of an agent's chat file below a project directory."""
    return directory / ".ai-pm" / "agents" / agent_id / "chat.jsonl"


def lines_of(file: Path) -> list[dict[str, Any]]:
    """Read a chat file strictly: UTF-8, one object a line, every line ended."""
    text = file.read_bytes()
    assert not text or text.endswith(b"\n"), text[-200:]  # noqa: S101 - a helper of tests
    return [json.loads(line) for line in text.split(b"\n")[:-1]]


@asynccontextmanager
async def team(
    root: Path,
    *plugins: PluginClass,
    members: Iterable[str] = ("agent-a", "agent-b"),
    with_directory: bool = True,
    **settings: Any,  # noqa: ANN401 - handed on to ``running``
) -> AsyncGenerator[Team]:
    """Run with chat and further plugins; data and project directory lie below ``root``."""
    directory = root / "work" if with_directory else None
    async with running(Sessions, FileChat, *plugins, data_dir=root / "data", **settings) as aipm:
        made = Team(aipm, directory)
        if await made.store.one("select 1 from projects where id = ?", PROJECT) is None:
            await made.add_project(PROJECT, directory)
            await made.add(*members)
        yield made
