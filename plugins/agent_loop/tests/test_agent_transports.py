"""The same conversation over every transport gives the same transcript."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import pytest
from aipm_agent_loop.testing import session, talking
from aipm_ui_gateway.api import UI_PORT
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.testing import Person, ServedTeam

from aipm_core import Json

Frame: TypeAlias = Mapping[str, Json]
CONFIRM = {"rules": [{"tool": "file:read", "decision": "REQUIRE_USER_CONFIRMATION"}]}


class Line:
    """One way to talk: give a command, hear the next event."""

    def __init__(self, command: Any, event: Any, session_id: str) -> None:
        self.command = command
        self.event = event
        self.session_id = session_id

    async def turn(self, text: str, *, approved: bool | None = None) -> list[Frame]:
        """Say something and answer the question that comes, while it comes."""
        await self.command("submitUserInput", {"sessionId": self.session_id, "text": text})
        seen: list[Frame] = []
        with anyio.fail_after(15):
            while True:
                seen.append(await self.event())
                payload = seen[-1]["payload"]
                if seen[-1]["type"] == "onToolCallRequest":
                    answer = {"confirmationId": payload["confirmationId"], "approved": approved}
                    await self.command("provideConfirmation", answer)
                if payload.get("state") == "waiting_for_input":
                    return seen


Opening: TypeAlias = Callable[[ServedTeam, Person], AbstractAsyncContextManager[Line]]
START = {"projectId": "p", "agentId": "bot"}


@asynccontextmanager
async def websocket(stage: ServedTeam, person: Person) -> AsyncGenerator[Line]:
    async with connected(stage.ws, person.token) as ui:
        opened = await ui.command("openSession", START)
        yield Line(ui.command, ui.event, opened["sessionId"])


@asynccontextmanager
async def event_stream(stage: ServedTeam, person: Person) -> AsyncGenerator[Line]:
    session_id = await stage.open(person)

    async def command(kind: str, payload: Json) -> None:
        assert (await stage.post(person, kind, **payload))["type"] == "ack"

    async with stage.stream(person, session_id) as stream:
        yield Line(command, stream.event, session_id)


@asynccontextmanager
async def in_process(stage: ServedTeam, person: Person) -> AsyncGenerator[Line]:
    async with stage.runtime.services.use(UI_PORT).connect(person.agent) as ui:

        async def command(kind: str, payload: Json) -> Frame:
            frame = {"id": secrets.token_hex(8), "type": kind, "payload": payload}
            answer = await ui.command(frame)
            assert answer["type"] == "ack", answer
            return answer

        opened = await command("openSession", START)
        yield Line(command, ui.receive, opened["sessionId"])


def normal(events: list[Frame]) -> list[Any]:
    """Leave out what differs between any two conversations: ids, moments, durations."""
    changing = {"sessionId", "confirmationId", "toolCallId", "messageId", "expiresAt", "metadata"}
    return [
        (
            event["seq"],
            event["type"],
            event["scope"],
            {k: v for k, v in event["payload"].items() if k not in changing},
        )
        for event in events
    ]


async def test_both_diagrams_are_equal_over_every_transport(tmp_path: Path) -> None:
    transcripts: dict[str, list[Any]] = {}
    async with talking(tmp_path, policy=CONFIRM) as talk:
        (tmp_path / "project" / "report.txt").write_text("内容")
        ways: dict[str, Opening] = {
            "websocket": websocket,
            "event_stream": event_stream,
            "in_process": in_process,
        }
        for name, way in ways.items():
            async with way(talk.stage, talk.person) as line:
                events = [
                    *await line.turn("こんにちは"),
                    *await line.turn('!call file:read {"path": "report.txt"}', approved=True),
                    *await line.turn('!call file:read {"path": "report.txt"}', approved=False),
                ]
                assert {event["payload"]["sessionId"] for event in events} == {line.session_id}
                transcripts[name] = normal(events)
    reference = transcripts["websocket"]
    assert len(reference) > 15
    assert transcripts == dict.fromkeys(transcripts, reference)


@pytest.mark.long
async def test_a_waiting_session_does_not_slow_down_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prints the ratio of turn times with and without busy neighbours; 1.0 is perfect."""
    rules = [*CONFIRM["rules"], {"tool": "shell:execute", "decision": "ALLOW"}]
    async with (
        talking(tmp_path, policy={"rules": rules}) as talk,
        session(talk.stage, talk.person) as endless,
        session(talk.stage, talk.person) as asking,
    ):

        async def median() -> float:
            times = []
            for number in range(100):
                began = anyio.current_time()
                assert await talk.ask(str(number)) == f"echo: {number}"
                times.append(anyio.current_time() - began)
            return sorted(times)[50]

        alone = await median()
        await endless.say('!call shell:execute {"command": "sleep 1000"}')
        await endless.until("onAgentStateChange", state="executing_tool")
        await asking.say('!call file:read {"path": "report.txt"}')
        await asking.asked()
        beside = await median()
        for neighbour in (endless, asking):
            await neighbour.ui.command("cancelRun", {"sessionId": neighbour.session})
            await neighbour.turn()
    with capsys.disabled():
        print(f"\nturn alone {alone * 1000:.2f} ms, beside {beside * 1000:.2f} ms,", end=" ")
        print(f"ratio {beside / alone:.2f}")
