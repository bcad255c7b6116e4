"""Every way into a tool passes the same check: agents over MCP, people at the command line."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from aipm_devkit.program import Install
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from mcp import Client
from mcp.shared.exceptions import MCPError

TOML = """
[[plugins.policy.rules]]
tool = "create_task"
decision = "REQUIRE_USER_CONFIRMATION"
level = "CRITICAL"
[[plugins.policy.rules]]
tool = "list_tasks"
decision = "DENY"
message = "今は見られません"
"""


@dataclass
class Office:
    """A running program and an agent in it."""

    aipm: Install
    client: Any
    token: str = ""

    async def call(self, tool: str, **args: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, args)
        return dict(result.structured_content)

    async def run(self, *words: str, code: int = 0) -> Any:
        """Run a command beside the server; return its data."""
        done = await anyio.to_thread.run_sync(
            lambda: self.aipm.run(*words, "--json", check=code), abandon_on_cancel=True
        )
        return json.loads(done.stdout)["data"] if code == 0 else done.stderr

    async def asked(self) -> dict[str, Any]:
        with anyio.fail_after(30):
            while not (waiting := await self.run("inbox")):  # noqa: ASYNC110 - as a person looks
                await anyio.sleep(0.05)
        (question,) = waiting
        return dict(question)


@asynccontextmanager
async def office(root: Path) -> AsyncGenerator[Office]:
    aipm = Install.make(root, TOML)
    common: dict[str, Any] = {"project_id": "p", "role": "worker", "parent": None}
    async with running(Sessions, data_dir=root / ".aipm-data") as made:
        administration = made.runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "p", None)
        await administration.add_agent("ann", name="ann", kind="human", **common)
        _, passkey = await administration.add_agent("bot", name="bot", kind="ai", **common)
    with aipm.up() as server:
        async with Client(server.mcp) as client:
            here = Office(aipm, client)
            login = {"agent_id": "bot", "passkey": passkey, "project_id": "p", "purpose": "task"}
            here.token = (await here.call("authenticate", **login))["result"]["session_token"]
            yield here


async def test_an_agents_call_waits_for_the_command_line_and_leaves_its_record(
    tmp_path: Path,
) -> None:
    async with office(tmp_path) as here:
        token = {"session_token": here.token}
        with pytest.raises(MCPError) as unknown:
            await here.call("file:read", path="aipm.toml", **token)
        assert unknown.value.error.data == {"code": "tool_not_found"}
        assert not [t for t in (await here.client.list_tools()).tools if ":" in t.name]

        refused = await here.call("list_tasks", **token)
        assert refused["error"]["code"] == "denied_by_policy"
        assert refused["error"]["message"] == "今は見られません"

        calls = asyncio.create_task(here.call("create_task", title="Ａ", **token))
        question = await here.asked()
        assert "create_task" in json.dumps(question)
        assert here.token not in json.dumps(question)
        await here.run("approve", question["id"])
        assert (await calls)["result"]["task"]["title"] == "Ａ"
        assert "回答済み" in await here.run("deny", question["id"], code=4)

        calls = asyncio.create_task(here.call("create_task", title="Ｂ", **token))
        await here.run("deny", (await here.asked())["id"])
        assert (await calls)["error"]["code"] == "confirmation_denied"

        entries = [e for e in await here.run("audit", "list") if e["rule"].startswith("rules")]
        assert [(e["tool"], e["outcome"], e.get("human_id")) for e in entries] == [
            ("list_tasks", "denied", None),
            ("create_task", "allowed", "operator"),
            ("create_task", "denied", "operator"),
        ]
        assert (await here.run("audit", "verify"))["ok"] is True
        assert [task["title"] for task in await here.run("task", "list")] == ["Ａ"]


async def test_an_interrupt_ends_the_wait_for_an_answer(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        token = {"session_token": here.token}
        calls = asyncio.create_task(here.client.call_tool("create_task", {"title": "Ｃ", **token}))
        await here.asked()
        stop = ("--type", "interrupt", "--action", "cancel", "--message", "stop")
        await here.run("notify", "bot", "--project", "p", *stop)
        with anyio.fail_after(20):
            reply = await calls
        assert reply.structured_content is None
        assert reply.content[0].text.startswith("通知があります")
        assert await here.run("inbox") == []
        read = (await here.call("get_notifications", **token))["result"]
        (withheld,) = read["withheld_results"]
        assert (withheld["tool"], withheld["ok"]) == ("create_task", False)
        assert withheld["result"]["code"] == "confirmation_withdrawn"
        assert await here.run("task", "list") == []
