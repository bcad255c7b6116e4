"""An event reaches exactly the subscribers of its session. Everything over real sockets."""

import ast
import json
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from aipm_sessions.api import SESSIONS, Agent
from aipm_ui_gateway import api
from aipm_ui_gateway.client.ui_client import connected
from aipm_ui_gateway.testing import Person, ServedTeam, served

from aipm_core import CallError, Event, Json

Next = Callable[[], Awaitable[Mapping[str, Json]]]
SAMPLES: list[api.EventPayload] = [
    api.NewMessage(content="canary", metadata=api.MessageMetadata(source_documents=["canary"])),
    api.MessageDelta(messageId="m", delta="canary"),
    api.ToolCallRequest(
        confirmationId="canary",
        toolName="shell:execute",
        args={"command": "canary"},
        security_warning=api.SecurityWarning(level="CRITICAL", message="canary"),
        expiresAt="2026-01-23T10:00:00.000Z",
    ),
    api.AgentStateChange(state="thinking"),
    api.ConfirmationResolved(confirmationId="canary", status="denied", reason="canary"),
    api.ToolCallResult(toolName="file:read", status="ok", result={"text": "canary"}),
    api.Error(code="internal_error", message="canary"),
    api.TaskChange(taskId="canary", status="todo", title="canary"),
    api.Notification(notificationId="canary", type="message", message="canary"),
    api.SystemMessage(content="canary"),
]


def sampled(kind: api.EventType, session: str) -> Event:
    payload = next((s for s in SAMPLES if type(s) is kind.payload), None)
    assert payload is not None, f"{kind.name} is not tested: add a sample"
    if isinstance(payload, api.SystemMessage):
        return api.system_event(payload)
    return api.session_event(session, payload)


@asynccontextmanager
async def listeners(
    stage: ServedTeam, person: Person, session: str
) -> AsyncGenerator[dict[str, Next]]:
    """Follow one session over every transport."""
    async with (
        connected(stage.ws, person.token) as socket,
        stage.stream(person, session) as stream,
        stage.runtime.services.use(api.UI_PORT).connect(person.agent) as port,
    ):
        await socket.command("openSession", {"sessionId": session})
        await port.command({"id": "1", "type": "openSession", "payload": {"sessionId": session}})
        yield {"ws": socket.event, "sse": stream.event, "port": port.receive}


@pytest.mark.parametrize("name", list(api.EVENT_TYPES))
async def test_every_event_type_reaches_its_session_and_nobody_else(name: str) -> None:
    kind = api.EVENT_TYPES[name]
    async with served() as stage:
        await stage.project()
        ann, ben = await stage.person("ann"), await stage.person("ben")
        of_ann, of_ben = await stage.open(ann), await stage.open(ben)
        async with listeners(stage, ann, of_ann) as hers, listeners(stage, ben, of_ben) as his:
            await stage.publish(sampled(kind, of_ann), api.new_message(of_ben, "end"))
            with anyio.fail_after(5):
                got = {way: await listen() for way, listen in hers.items()}
                # News and a session's events count apart, so nobody promises which comes first.
                shared = kind.scope == "system"
                his_frames = [await listen() for listen in his.values() for _ in range(1 + shared)]
        assert {frame["type"] for frame in got.values()} == {name}
        assert got["ws"] == got["sse"] == got["port"]
        times = Counter(frame["type"] for frame in his_frames)
        assert times == Counter({name: 3 * shared}) + Counter(onNewMessage=3)
        if not shared:
            assert "canary" not in json.dumps(his_frames)
            assert got["ws"]["payload"]["sessionId"] == of_ann
            assert {frame["payload"]["sessionId"] for frame in his_frames} == {of_ben}


def test_no_plugin_makes_events_of_unknown_type() -> None:
    made: set[str] = set()
    for file in Path(__file__).parents[2].glob("*/aipm_*/**/*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Event":
                types = [k.value for k in node.keywords if k.arg == "type"]
                made |= {t.value for t in types if isinstance(t, ast.Constant)}  # type: ignore[misc]
    assert made <= set(api.EVENT_TYPES)


async def test_system_events_reach_every_connection_exactly_once() -> None:
    async with served() as stage:
        await stage.project()
        ann, ben = await stage.person("ann"), await stage.person("ben")
        async with (
            connected(stage.ws, ann.token) as several,
            connected(stage.ws, ben.token) as none,
            stage.stream(ben, None) as news_only,
        ):
            for _ in range(3):
                await several.command("openSession", {"projectId": "p", "agentId": "bot"})
            await stage.publish(api.system_message("one"), api.system_message("two"))
            with anyio.fail_after(5):
                for listen in (several.event, none.event, news_only.event):
                    frames = [await listen(), await listen()]
                    assert [frame["payload"] for frame in frames] == [
                        {"content": "one"},
                        {"content": "two"},
                    ]
                    assert {frame["scope"] for frame in frames} == {"system"}


async def test_one_connection_may_hold_several_sessions() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        async with connected(stage.ws, ann.token) as ui:
            opened = [
                (await ui.command("openSession", {"projectId": "p", "agentId": "bot"}))["sessionId"]
                for _ in range(3)
            ]
            for session in opened:
                await stage.publish(api.new_message(session, f"for {session}"))
            with anyio.fail_after(5):
                frames = [await ui.event() for _ in opened]
        assert {frame["payload"]["sessionId"] for frame in frames} == set(opened)
        assert all(
            frame["payload"]["content"].endswith(f["sessionId"])
            for frame, f in ((frame, frame["payload"]) for frame in frames)
        )
        assert [frame["seq"] for frame in frames] == [1, 1, 1]


async def test_unknown_foreign_and_closed_sessions_answer_alike() -> None:
    async with served() as stage:
        await stage.project()
        ann, ben = await stage.person("ann"), await stage.person("ben")
        foreign, closed = await stage.open(ben), await stage.open(ann)
        await stage.post(ann, "closeSession", sessionId=closed)
        answers: list[tuple[Json, Json]] = []
        reserved = ["", "default", "__default__", "*", "system", "../x", "uis_" + "0" * 24]
        async with connected(stage.ws, ann.token) as ui:
            for session in (foreign, closed, *reserved):
                for type_ in ("openSession", "closeSession"):
                    order = {"id": "1", "type": type_, "payload": {"sessionId": session}}
                    answers.append((await ui.ask(order), 404))
                    reply = await stage.http.post("/commands", json=order, headers=ann.headers)
                    answers.append((reply.json(), reply.status_code))
                reply = await stage.http.get(
                    "/events", params={"session": session}, headers=ann.headers
                )
                error = reply.json()["error"]
                told = {
                    "type": "error",
                    "id": "1",
                    "code": error["code"],
                    "message": error["message"],
                }
                answers.append((told, reply.status_code))
        assert answers == [answers[0]] * len(answers)
        assert answers[0][0]["code"] == "session_not_found"
        assert await stage.runtime.services.use(api.UI_SESSIONS).find(stage.runtime.store, foreign)


async def test_a_session_is_opened_only_with_an_agent_of_a_shared_project() -> None:
    async with served() as stage:
        await stage.project()
        await stage.project("q", "spy")
        ann = await stage.person("ann")
        await stage.person("ben")
        refused = [
            await stage.post(ann, "openSession", projectId=project, agentId=agent)
            for project, agent in [
                ("q", "spy"),
                ("p", "spy"),
                ("q", "bot"),
                ("p", "nobody"),
                ("none", "bot"),
                ("p", "ben"),
                ("p", "ann"),
            ]
        ]
        assert {(r["code"], r["message"]) for r in refused} == {
            ("agent_not_found", refused[0]["message"])
        }


async def agent_session(stage: ServedTeam, agent: Agent, project: str = "p") -> str:
    sessions = stage.runtime.services.use(SESSIONS)
    session, _ = await stage.runtime.store.write(
        lambda tx: sessions.open(tx, agent, project, "task")
    )
    return session.id


async def test_a_manager_follows_the_agents_below_and_nothing_else() -> None:
    async with served() as stage:
        await stage.project()
        await stage.project("q", "other")
        boss = await stage.person("boss", role="manager")
        deputy = await stage.person("deputy", parent="boss")
        rival = await stage.person("rival", role="manager")
        below = await stage.agent("below", parent="deputy")
        beside = await stage.agent("beside")
        elsewhere = await stage.agent("elsewhere", "q", parent="boss")
        watched = await agent_session(stage, below)
        of_deputy = await stage.open(deputy)
        allowed = {"boss": watched}
        for person in (boss, deputy, rival):
            for session in (
                watched,
                await agent_session(stage, beside),
                await agent_session(stage, elsewhere, "q"),
                of_deputy,
            ):
                reply = await stage.post(person, "openSession", sessionId=session)
                name = person.agent.id
                may = allowed.get(name) == session or (name, session) == ("deputy", of_deputy)
                assert reply["type"] == ("ack" if may else "error"), (name, session)
        async with connected(stage.ws, boss.token) as ui:
            await ui.command("openSession", {"sessionId": watched})
            await stage.publish(api.new_message(watched, "from below"))
            with anyio.fail_after(5):
                assert (await ui.event())["payload"]["content"] == "from below"
            with pytest.raises(CallError, match="セッションが見つかりません"):
                await ui.command("closeSession", {"sessionId": watched})
            sessions = stage.runtime.services.use(SESSIONS)
            await stage.runtime.store.write(lambda tx: sessions.close(tx, watched, "logout"))
            with anyio.fail_after(5):
                assert await ui.event() == {"type": "session_closed", "sessionId": watched}


async def test_closing_a_session_tells_its_followers_after_its_last_event() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        session = await stage.open(ann)
        async with listeners(stage, ann, session) as everywhere:
            sessions = stage.runtime.services.use(api.UI_SESSIONS)

            async def last_words(tx: Any) -> None:
                for number in range(500):
                    event = api.new_message(session, str(number))
                    await stage.runtime.events.record(tx, event)
                await sessions.close(tx, session)

            await stage.runtime.store.write(last_words)
            for listen in everywhere.values():
                with anyio.fail_after(10):
                    frames = [await listen() for _ in range(501)]
                assert [f["payload"]["content"] for f in frames[:-1]] == [
                    str(number) for number in range(500)
                ]
                assert frames[-1] == {"type": "session_closed", "sessionId": session}
        with pytest.raises(httpx.HTTPStatusError):
            async with stage.stream(ann, session):
                pass


async def test_two_tabs_of_one_session_see_the_same() -> None:
    async with served() as stage:
        await stage.project()
        ann = await stage.person("ann")
        session = await stage.open(ann)
        async with AsyncExitStack() as tabs:
            opened = [await tabs.enter_async_context(stage.stream(ann, session)) for _ in range(3)]
            await stage.publish(*(api.new_message(session, str(n)) for n in range(20)))
            with anyio.fail_after(5):
                seen = [[await tab.event() for _ in range(20)] for tab in opened]
        assert seen[0] == seen[1] == seen[2]
        assert [event["seq"] for event in seen[0]] == list(range(1, 21))
