"""A person talks to the agent of a session over a real socket: both diagrams, event for event."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from aipm_agent_loop.plugin import AgentLoop
from aipm_policy.plugin import Policy
from aipm_ui_gateway.client import UiClient, connected
from aipm_ui_gateway.testing import Stage, served

CONFIRM_FILES = {"rules": [{"tool": "file:*", "decision": "REQUIRE_USER_CONFIRMATION"}]}


class Talk:
    """One session of one person."""

    def __init__(self, stage: Stage, ui: UiClient, session: str) -> None:
        self.stage = stage
        self.ui = ui
        self.session = session

    async def say(self, text: str, **more: Any) -> Mapping[str, Any]:
        payload = {"sessionId": self.session, "text": text, **more}
        return await self.ui.command("submitUserInput", payload)

    async def until(self, kind: str, **fields: Any) -> list[Mapping[str, Any]]:
        """Collect events up to the first one of a type with these fields in its payload."""
        seen: list[Mapping[str, Any]] = []
        with anyio.fail_after(15):
            while True:
                seen.append(await self.ui.event())
                payload = seen[-1]["payload"]
                if seen[-1]["type"] == kind and fields.items() <= payload.items():
                    return seen

    async def turn(self) -> list[Mapping[str, Any]]:
        return await self.until("onAgentStateChange", state="waiting_for_input")


@asynccontextmanager
async def talking(tmp_path: Path, **settings: Any) -> AsyncGenerator[Talk]:
    project = tmp_path / "project"
    project.mkdir()
    async with served(Policy, AgentLoop, **settings) as stage:
        from aipm_sessions.plugin import REGISTRY

        await stage.runtime.services.use(REGISTRY).add_project("p", "p", project)
        await stage.agent("bot")
        ann = await stage.person("ann")
        async with connected(stage.ws, ann.token) as ui:
            ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            yield Talk(stage, ui, ack["sessionId"])


def shape(events: list[Mapping[str, Any]]) -> list[str]:
    return [e["payload"].get("state") or e["type"] for e in events]


async def test_a_simple_turn_is_the_seeds_first_diagram(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("こんにちは")
        events = await talk.turn()
    assert shape(events) == ["thinking", "onNewMessage", "waiting_for_input"]
    assert events[1]["payload"]["content"] == "echo: こんにちは"
    assert [event["seq"] for event in events] == [1, 2, 3]


async def test_a_tool_turn_is_the_seeds_second_diagram(tmp_path: Path) -> None:
    async with talking(tmp_path, policy=CONFIRM_FILES) as talk:
        (tmp_path / "project" / "report.txt").write_text("本文", encoding="utf-8")
        await talk.say('!call file:read {"path": "report.txt"}')
        asked = await talk.until("onAgentStateChange", state="awaiting_confirmation")
        request = asked[1]["payload"]
        assert request["toolName"] == "file:read"
        assert request["args"] == {"path": "report.txt"}
        assert request["security_warning"]["level"] == "INFO"
        confirmation = {"confirmationId": request["confirmationId"], "approved": True}
        await talk.ui.command("provideConfirmation", confirmation)
        rest = await talk.turn()
    assert shape(asked) == ["thinking", "onToolCallRequest", "awaiting_confirmation"]
    assert shape(rest) == [
        "onConfirmationResolved",
        "executing_tool",
        "onToolCallResult",
        "thinking",
        "onNewMessage",
        "waiting_for_input",
    ]
    assert rest[0]["payload"]["answeredBy"] == "ann"
    assert rest[2]["payload"]["status"] == "ok"
    assert "本文" in rest[4]["payload"]["content"]
