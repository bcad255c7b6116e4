"""For tests: a person who talks to an agent over a real socket, and tools to play with."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from aipm_policy.plugin import Policy
from aipm_sessions.plugin import ADMINISTRATION
from aipm_ui_gateway.client.ui_client import UiClient, connected
from aipm_ui_gateway.testing import Person, ServedTeam, served

from aipm_agent_loop.plugin import AgentLoop
from aipm_core import Json, PluginClass

TIMEOUT_SECONDS = 15.0


class PersonSession:
    """One session of one person."""

    def __init__(self, stage: ServedTeam, person: Person, ui: UiClient, session: str) -> None:
        self.stage = stage
        self.person = person
        self.ui = ui
        self.session = session

    async def say(self, text: str, **more: Json) -> Mapping[str, Json]:
        """Give an input."""
        payload = {"sessionId": self.session, "text": text, **more}
        return await self.ui.command("submitUserInput", payload)

    async def until(self, kind: str, **fields: Json) -> list[Mapping[str, Json]]:
        """Collect events up to the first one of a kind with these fields in its payload."""
        seen: list[Mapping[str, Json]] = []
        with anyio.fail_after(TIMEOUT_SECONDS):
            while True:
                seen.append(await self.ui.event())
                if seen[-1]["type"] == kind and fields.items() <= seen[-1]["payload"].items():
                    return seen

    async def turn(self) -> list[Mapping[str, Json]]:
        """Collect the events of the rest of a turn."""
        return await self.until("onAgentStateChange", state="waiting_for_input")

    async def asked(self) -> Mapping[str, Json]:
        """Wait for a question; return its payload."""
        return dict((await self.until("onToolCallRequest"))[-1]["payload"])

    async def answer(self, question: Mapping[str, Json], *, approved: bool = True) -> None:
        """Answer a question."""
        payload = {"confirmationId": question["confirmationId"], "approved": approved}
        await self.ui.command("provideConfirmation", payload)

    async def ask(self, text: str) -> str:
        """Give an input, hear the turn out, and return the last message."""
        await self.say(text)
        events = await self.turn()
        return str([e for e in events if e["type"] == "onNewMessage"][-1]["payload"]["content"])


@asynccontextmanager
async def talking(
    root: Path,
    *plugins: PluginClass,
    **settings: Any,  # noqa: ANN401
) -> AsyncGenerator[PersonSession]:
    """Serve an agent for a project in ``root / "project"``, and open a session with it."""
    project = root / "project"
    project.mkdir(exist_ok=True)
    async with served(Policy, AgentLoop, *plugins, **settings) as stage:
        await stage.runtime.services.use(ADMINISTRATION).add_project("p", "p", project)
        await stage.agent("bot")
        ann = await stage.person("ann")
        async with session(stage, ann) as talk:
            yield talk


@asynccontextmanager
async def session(stage: ServedTeam, person: Person) -> AsyncGenerator[PersonSession]:
    """Open one more session on a connection of its own."""
    async with connected(stage.ws, person.token) as ui:
        ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
        yield PersonSession(stage, person, ui, ack["sessionId"])


def shape(events: list[Mapping[str, Json]]) -> list[str]:
    """Return what a turn looks like: states and event types, in order."""
    return [event["payload"].get("state") or event["type"] for event in events]


def script(root: Path, *turns: list[dict[str, Json]]) -> dict[str, Json]:
    """Write a script and return the settings that use it."""
    path = root / "script.json"
    path.write_text(json.dumps(turns), encoding="utf-8")
    return {"script": str(path)}
