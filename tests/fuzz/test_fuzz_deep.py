"""The deep road: wild calls and commands all the way into a real runtime with every plugin.

Slower by a thousand times than parsing alone, so there are fewer of them. No input may end in an
internal error, and what is refused must leave no trace in the store.
"""

import json
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aipm_agent_loop.plugin import AgentLoop
from aipm_conversations.plugin import Conversations
from aipm_delegation.plugin import Delegation
from aipm_file_chat.plugin import FileChat
from aipm_http_server.api import HttpHooks
from aipm_markers.plugin import Markers
from aipm_mcp_transport.plugin import McpTransport
from aipm_notifications.plugin import Notifications
from aipm_policy.plugin import Policy
from aipm_sessions.api import DIRECTORY
from aipm_sessions.testing import Caller, Team, team
from aipm_tasks.plugin import Tasks
from aipm_ui_gateway.api import UI_PORT
from aipm_ui_gateway.plugin import UiGateway

from tests.fuzz.choices import Choices
from tests.fuzz.rpc import MESSAGE, check_answer, parsed, written
from tests.fuzz.targets.commands import FRAME

EVERYTHING = (
    *(AgentLoop, Conversations, Delegation, FileChat, Markers, McpTransport, Notifications),
    *(Policy, Tasks, UiGateway),
)
NOTED = {"policy_audit", "policy_audit_head", "policy_calls", "login_attempts", "withheld_results"}
WAITS = ("timeout_seconds", "wait_seconds")
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@asynccontextmanager
async def opened(root: Path) -> AsyncGenerator[Team]:
    limits = {"commands_per_second": 1e6}
    async with team(*EVERYTHING, root=root, ui_gateway=limits) as made:
        await made.add("agent-a", "agent-b")
        await made.add("ann", kind="human")
        yield made


class Door:
    """The real endpoint of ``/mcp``, SDK included, and the sessions that come through it."""

    def __init__(self, team: Team) -> None:
        self._team = team
        (route,) = [
            one.record
            for one in team.aipm.runtime.given(HttpHooks.aipm_routes)
            if one.record.path == "/mcp"
        ]
        transport = httpx.ASGITransport(app=route.build(team.aipm.runtime))
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        self._callers: dict[tuple[str, str], Caller] = {}
        self.seen: list[str] = ["agent-a", "agent-b", "p"]

    async def token(self, choices: Choices) -> str:
        who = choices.pick((("agent-a", "task"), ("agent-a", "chat"), ("agent-b", "chat")))
        caller = self._callers.get(who)
        if caller is None or not await self._team.aipm.runtime.authenticate(caller.token):
            caller = self._callers[who] = await self._team.session(who[0], who[1])  # type: ignore[arg-type]
        return caller.token

    def arguments(self, choices: Choices, tool: str) -> Any:
        made = choices.shaped(self._team.aipm.runtime.schema(tool))
        if not isinstance(made, dict):
            return made
        made.pop("session_token", None)
        for name in made.keys() & set(WAITS):
            made[name] = 0  # what waits is a matter of other tests
        for name in (name for name in made if name.endswith("_id")):
            made[name] = made[name] if choices.once_in(4) else choices.pick(self.seen)
        return made

    async def post(self, token: str, message: Any) -> httpx.Response:
        headers = {**HEADERS, "authorization": f"Bearer {token}"}
        return await self._client.post("/mcp", content=written(message), headers=headers)

    def learn(self, value: Any) -> None:
        """Remember ids that replies tell, so that later calls can name them."""
        if isinstance(value, dict):
            for name, inner in value.items():
                if name.endswith("id") and isinstance(inner, str) and len(self.seen) < 200:
                    self.seen.append(inner)
                self.learn(inner)
        elif isinstance(value, list):
            for inner in value:
                self.learn(inner)


def answer_of(reply: httpx.Response) -> dict[str, Any]:
    text = (
        reply.text.partition("data: ")[2]
        if "event-stream" in reply.headers["content-type"]
        else reply.text
    )
    answer: dict[str, Any] = json.loads(text)
    return answer


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {table for table in after if after[table] != before[table]}


async def calls(team: Team, count: int, seed: int) -> None:
    door, chance = Door(team), random.Random(seed)
    tools = [tool.name for tool in team.aipm.runtime.catalog()]
    for number in range(count):
        choices = Choices(chance.randbytes(120))
        token, tool = await door.token(choices), choices.pick(tools)
        params = {"name": tool, "arguments": door.arguments(choices, tool)}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        before = await team.dump()
        reply = await door.post(token, message)
        answer = answer_of(reply)
        check_answer(answer)
        assert answer["id"] == (number if parsed(written(message))[1] else None)
        told = answer.get("result", {}).get("structuredContent", {})
        failed = told.get("error") or answer.get("error")
        assert reply.status_code < 500
        assert told.get("error", {}).get("code") != "internal_error", params
        if failed:
            assert changed(before, await team.dump()) <= NOTED, (params, failed)
        door.learn(told.get("result"))


async def messages(team: Team, count: int, seed: int) -> None:
    """Messages of every kind: the odd ones reach the SDK."""
    door, chance = Door(team), random.Random(seed)
    for _ in range(count):
        choices = Choices(chance.randbytes(120))
        message = choices.shaped(MESSAGE)
        reply = await door.post(await door.token(choices), message)
        assert reply.status_code < 500, message
        if reply.content and "id" in (message if isinstance(message, dict) else {}):
            assert answer_of(reply)["id"] in (None, message["id"])


async def commands(team: Team, count: int, seed: int) -> None:
    chance = random.Random(seed)
    services = team.aipm.runtime.services
    ann = await services.use(DIRECTORY).agent(team.store, "ann")
    assert ann is not None
    ids = ["p", "agent-a", "agent-b"]
    async with services.use(UI_PORT).connect(ann) as connection:
        for _ in range(count):
            frame = Choices(chance.randbytes(60)).shaped(FRAME)
            given = frame.get("payload") if isinstance(frame, dict) else None
            payload: dict[str, Any] = given if isinstance(given, dict) else {}
            for name in payload:
                if name.endswith("Id") and chance.random() < 0.7:
                    payload[name] = "p" if name == "projectId" else chance.choice(ids)
            before = await team.rows("ui_sessions"), await team.rows("person_calls")
            reply = await connection.command(frame)
            assert reply["type"] in ("ack", "error")
            assert reply.get("code") != "internal_error", frame
            if reply["type"] == "error":
                assert before == (await team.rows("ui_sessions"), await team.rows("person_calls"))
            elif "sessionId" in reply:
                ids.append(reply["sessionId"])


ROADS = {"calls": (calls, 200), "messages": (messages, 300), "commands": (commands, 300)}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("road", ROADS)
async def test_no_input_ends_in_an_internal_error(tmp_path: Path, road: str) -> None:
    walk, count = ROADS[road]
    async with opened(tmp_path) as made:
        await walk(made, count, seed=1)


@pytest.mark.long
@pytest.mark.timeout(14400)
@pytest.mark.parametrize("road", ROADS)
async def test_no_input_of_very_many_ends_in_an_internal_error(tmp_path: Path, road: str) -> None:
    walk, count = ROADS[road]
    for seed in range(2, 52):
        (place := tmp_path / str(seed)).mkdir()
        async with opened(place) as made:
            await walk(made, count, seed=seed)
