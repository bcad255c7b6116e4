"""A person stops a running agent: the real server, the official MCP client, the real commands."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from aipm_cli import main
from aipm_devkit.program import Install
from mcp import Client

REPLACED = (
    "通知があります。\n\n1. get_notifications() を呼び出して詳細を確認してください\n"
    "2. 通知の指示に従ってください"
)


class TaskInstall:
    """A project with a worker, a running server, and the commands a person types."""

    def __init__(self, install: Install) -> None:
        self.install = install
        self.here("project", "add", "p")
        added = self.here("agent", "add", "worker", "--project", "p")
        self.login = {"agent_id": "worker", "passkey": added["passkey"], "project_id": "p"}

    def here(self, *command: str) -> Any:
        """Run a command in this process: preparations need no process of their own."""
        with redirect_stdout(StringIO()) as out:
            code = main([*command, "--json", "--config", str(self.install.root / "aipm.toml")])
        assert code == 0
        return json.loads(out.getvalue())["data"]

    def add(self, title: str, status: str) -> str:
        """Add a task for the worker."""
        return str(self.install.json(*adding(title, status))["id"])

    async def person(self, *command: str) -> Any:
        """Run a command in a process of its own while the agent goes on."""
        return await anyio.to_thread.run_sync(lambda: self.install.json(*command))


def adding(title: str, status: str) -> tuple[str, ...]:
    who = ("--project", "p", "--assignee", "worker")
    return ("task", "add", *who, "--title", title, "--status", status)


class Agent:
    """An agent behind the official client."""

    def __init__(self, client: Client, opened: Any) -> None:
        self.client = client
        self.opened = opened
        self.token = opened["session_token"]

    async def call(self, tool: str, **arguments: Any) -> Any:
        made = await self.client.call_tool(tool, {"session_token": self.token, **arguments})
        (block,) = made.content
        text: str = block.text  # type: ignore[union-attr]
        if made.structured_content is None:
            return text
        assert json.loads(text) == made.structured_content
        return made.structured_content


@asynccontextmanager
async def agent(url: str, login: dict[str, str], **more: str) -> AsyncGenerator[Agent]:
    async with Client(url, read_timeout_seconds=90) as client:
        reply = await client.call_tool("authenticate", {**login, **more})
        assert reply.structured_content is not None
        yield Agent(client, reply.structured_content["result"])


@pytest.fixture
def team(tmp_path: Path) -> TaskInstall:
    return TaskInstall(Install.make(tmp_path))


@pytest.fixture
def task(team: TaskInstall) -> str:
    return str(team.here(*adding("作業", "in_progress"))["id"])


async def test_a_person_stops_a_running_agent(team: TaskInstall, task: str) -> None:
    with team.install.up() as server:
        async with agent(server.mcp, team.login) as worker:
            assert (worker.opened["purpose"], worker.opened["task_id"]) == ("task", task)
            first = await worker.call("get_next_action")
            assert first["result"]["action"] == "work"
            assert first["notification"] == "通知はありません"
            await team.person("task", "status", task, "blocked", "--reason", "方針変更")
            for _ in range(2):
                assert await worker.call("create_task", title="must not exist") == REPLACED
            (item,) = (await worker.call("get_notifications"))["result"]["notifications"]
            assert (item["type"], item["action"]) == ("interrupt", "blocked")
            assert "方針変更" in item["message"]
            done = await worker.call("report_completed", result="blocked")
            assert done["result"]["success"] is True
            assert (done["result"]["task_id"], done["result"]["status"]) == (task, "blocked")
            assert done["notification"] == "通知はありません"
            over = await worker.call("get_my_task")
            assert over["error"]["code"] == "session_invalid"
        async with agent(server.mcp, team.login) as again:
            assert again.opened["purpose"] == "chat"
            assert "task_id" not in again.opened
        async with agent(server.mcp, team.login, purpose="task") as again:
            offered = await again.call("get_next_action", timeout_seconds=0)
            assert offered["result"]["action"] == "wait_for_task"
    (row,) = await team.person("task", "list")
    assert (row["id"], row["status"]) == (task, "blocked")
    past = await team.person("task", "history", task)
    actors = [(entry["actor_id"], entry["what"]) for entry in past]
    assert actors == [("operator", "created"), ("operator", "status"), ("worker", "reported")]


@pytest.fixture
def hurried(tmp_path: Path) -> TaskInstall:
    made = TaskInstall(Install.make(tmp_path, "[plugins.tasks]\nlease_seconds = 4\n"))
    made.here(*adding("作業", "in_progress"))
    return made


async def test_the_next_session_of_an_agent_that_died_gets_its_task(hurried: TaskInstall) -> None:
    with hurried.install.up() as server:
        async with agent(server.mcp, hurried.login) as worker:
            task = worker.opened["task_id"]
        # It never calls again, and nobody but the server's upkeep can notice that.
        async with agent(server.mcp, hurried.login, purpose="task") as following:
            offered = await following.call("get_next_action", timeout_seconds=55)
    assert (offered["result"]["action"], offered["result"]["task"]["id"]) == ("work", task)


async def test_a_command_wakes_an_agent_that_waits(team: TaskInstall) -> None:
    with team.install.up() as server:
        async with agent(server.mcp, team.login, purpose="task") as worker:
            replies: list[Any] = []

            async def wait() -> None:
                replies.append(await worker.call("get_next_action", timeout_seconds=55))

            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                task = await anyio.to_thread.run_sync(team.add, "new", "in_progress")
            assert replies[0]["result"]["task"]["id"] == task
            async with anyio.create_task_group() as group:
                await team.person(
                    *("notify", "worker", "--project", "p", "--type", "interrupt"),
                    *("--action", "pause"),
                )
                assert await worker.call("get_next_action") == REPLACED
                await worker.call("get_notifications")
                group.start_soon(wait)
                await team.person(
                    *("notify", "worker", "--project", "p", "--type", "message"),
                    *("--action", "resume"),
                )
            assert replies[1]["result"]["action"] == "work"


async def test_an_interrupt_survives_the_end_of_the_server(team: TaskInstall, task: str) -> None:
    with team.install.up() as server:
        async with agent(server.mcp, team.login) as worker:
            await team.person("task", "status", task, "cancelled")
            server.process.kill()
            server.process.wait()
    with team.install.up() as server:
        async with Client(server.mcp, read_timeout_seconds=90) as client:
            back = Agent(client, worker.opened)
            assert await back.call("get_my_task") == REPLACED
            found = await back.call("get_notifications")
            assert found["result"]["notifications"][0]["task_id"] == task
            done = await back.call("report_completed", result="blocked")
            assert done["result"]["status"] == "cancelled"


def test_status_shows_who_does_what(team: TaskInstall, task: str) -> None:
    (line,) = team.install.json("status")["agents"]
    assert (line["agent_id"], line["project_id"], line["sessions"]) == ("worker", "p", [])
    assert [one["id"] for one in line["tasks"]] == [task]
    assert "待機中: 作業" in team.install.run("status").stdout


async def test_status_shows_sessions_tasks_and_unread(team: TaskInstall, task: str) -> None:
    with team.install.up() as server:
        async with agent(server.mcp, team.login):
            await team.person(
                *("notify", "worker", "--project", "p", "--type", "message", "--message", "m")
            )
            (line,) = (await team.person("status"))["agents"]
            (session,) = line["sessions"]
            assert (session["purpose"], session["task_id"]) == ("task", task)
            assert session["stale"] is False
            assert (line["unread"], line["paused"]) == (1, False)
