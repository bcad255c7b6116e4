"""A person talks to the agent of a session over a real socket: both diagrams, event for event."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from aipm_agent_loop.testing import PersonSession, script, session, shape, talking

from aipm_core import CallError, Json, Request, Session

CONFIRM_FILES = {"rules": [{"tool": "file:*", "decision": "REQUIRE_USER_CONFIRMATION"}]}
READ = '!call file:read {"path": "report.txt"}'
TOOL_TURN = ["executing_tool", "onToolCallResult", "thinking", "onNewMessage", "waiting_for_input"]


def write_report(root: Path) -> None:
    (root / "project").mkdir(exist_ok=True)
    (root / "project" / "report.txt").write_text("本文", encoding="utf-8")


async def test_a_simple_turn_is_the_seeds_first_diagram(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("こんにちは")
        events = await talk.turn()
    assert shape(events) == ["thinking", "onNewMessage", "waiting_for_input"]
    assert events[1]["payload"]["content"] == "echo: こんにちは"
    assert events[1]["payload"]["metadata"]["latency_ms"] >= 0
    assert [event["seq"] for event in events] == [1, 2, 3]


async def test_a_tool_turn_is_the_seeds_second_diagram(tmp_path: Path) -> None:
    write_report(tmp_path)
    async with talking(tmp_path, policy=CONFIRM_FILES) as talk:
        await talk.say(READ)
        asked = await talk.until("onAgentStateChange", state="awaiting_confirmation")
        request = asked[1]["payload"]
        await talk.answer(request)
        rest = await talk.turn()
    assert shape(asked) == ["thinking", "onToolCallRequest", "awaiting_confirmation"]
    assert shape(rest) == ["onConfirmationResolved", *TOOL_TURN]
    assert request["toolName"] == "file:read"
    assert request["args"] == {"path": "report.txt"}
    assert request["security_warning"]["level"] == "INFO"
    assert rest[0]["payload"]["answeredBy"] == "ann"
    assert rest[2]["payload"]["status"] == "ok"
    assert rest[2]["payload"]["toolCallId"] == request["toolCallId"]
    assert "本文" in rest[4]["payload"]["content"]


async def test_what_is_allowed_runs_without_a_question(tmp_path: Path) -> None:
    write_report(tmp_path)
    async with talking(tmp_path) as talk:
        await talk.say(READ)
        events = await talk.turn()
    assert shape(events) == ["thinking", *TOOL_TURN]


async def test_a_no_reaches_the_model_as_the_calls_result(tmp_path: Path) -> None:
    write_report(tmp_path)
    async with talking(tmp_path, policy=CONFIRM_FILES) as talk:
        await talk.say(READ)
        await talk.answer(await talk.asked(), approved=False)
        events = await talk.turn()
        history = await calls(talk)
        assert await talk.ask("それでは") == "echo: それでは"
    assert shape(events) == [
        "awaiting_confirmation",
        "onConfirmationResolved",
        "onToolCallResult",
        "thinking",
        "onNewMessage",
        "waiting_for_input",
    ]
    assert events[2]["payload"]["status"] == "denied"
    assert "confirmation_denied" in events[4]["payload"]["content"]
    assert "本文" not in str(events)
    assert history == [("file:read", "denied")]


async def test_silence_expires_and_the_turn_goes_on(tmp_path: Path) -> None:
    settings = {**CONFIRM_FILES, "confirmation_seconds": 0.2}
    async with talking(tmp_path, policy=settings) as talk:
        await talk.say(READ)
        question = await talk.asked()
        events = await talk.turn()
        with pytest.raises(CallError) as late:
            await talk.answer(question)
    resolved = next(e for e in events if e["type"] == "onConfirmationResolved")
    result = next(e for e in events if e["type"] == "onToolCallResult")
    assert resolved["payload"]["status"] == result["payload"]["status"] == "expired"
    assert late.value.code == "confirmation_expired"


async def test_what_policy_denies_is_blocked_without_executing(tmp_path: Path) -> None:
    rules = {"rules": [{"tool": "file:read", "decision": "DENY", "message": "だめ"}]}
    async with talking(tmp_path, policy=rules) as talk:
        await talk.say(READ)
        events = await talk.turn()
    assert shape(events) == [
        "thinking",
        "onToolCallResult",
        "thinking",
        "onNewMessage",
        "waiting_for_input",
    ]
    assert events[1]["payload"]["status"] == "blocked"
    assert events[1]["payload"]["error"]["message"] == "だめ"


async def test_the_shell_asks_unless_the_operator_says_otherwise(tmp_path: Path) -> None:
    command = '!call shell:execute {"command": "echo hi there"}'
    async with talking(tmp_path) as talk:
        await talk.say(command)
        question = await talk.asked()
        assert question["security_warning"]["level"] == "CRITICAL"
        await talk.answer(question)
        events = await talk.turn()
        assert '"stdout": "hi there\\n"' in events[-2]["payload"]["content"]
    allow = {"rules": [{"tool": "shell:execute", "decision": "ALLOW"}]}
    other = tmp_path / "other"
    other.mkdir()
    async with talking(other, policy=allow) as talk:
        assert "hi there" in await talk.ask(command)


async def test_unknown_tools_and_bad_arguments_are_results(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        assert "tool_not_found" in await talk.ask("!call no_such_tool {}")
        assert "invalid_arguments" in await talk.ask('!call file:read {"pth": "x"}')
        assert "not JSON" in await talk.ask("!call file:read {oops")
        assert "not a JSON object" in await talk.ask("!call file:read [1]")
        assert "entries" in await talk.ask("!call file:list")


async def test_registry_tools_run_as_the_agent_of_the_session(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        answer = await talk.ask("!call help {}")
    assert '"name": "shell:execute"' in answer
    assert '"name": "logout"' not in answer


async def test_the_loops_own_tools_do_not_exist_for_agents(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        gateway = talk.stage.runtime
        names = [tool.name for tool in gateway.catalog()]
        caller = Session(id="s", agent_id="bot", project_id="p", purpose="chat")
        reply = await gateway.call(
            Request(tool="file:list", arguments={"path": "."}, session=caller)
        )
    assert not [name for name in names if ":" in name]
    assert reply.error is not None
    assert reply.error.code == "tool_not_found"


async def test_a_script_replaces_the_echo(tmp_path: Path) -> None:
    write_report(tmp_path)
    turns: list[list[dict[str, Json]]] = [
        [{"text": "一"}, {"tool": "file:read", "args": {"path": "report.txt"}}, {"text": "二"}],
        [{"wait_ms": 1}, {"text": "a b\nc ", "stream": True}],
        [{"tool": "file:list", "args": {}}],
    ]
    async with talking(tmp_path, agent_loop=script(tmp_path, *turns)) as talk:
        await talk.say("x")
        first = await talk.turn()
        await talk.say("x")
        second = await talk.turn()
        assert "report.txt" in await talk.ask("x")
        await talk.say("x")
        again = await talk.turn()
    assert shape(first) == ["thinking", "onNewMessage", *TOOL_TURN]
    assert shape(again) == shape(first)
    deltas = [e["payload"] for e in second if e["type"] == "onMessageDelta"]
    message = second[-2]["payload"]
    assert "".join(d["delta"] for d in deltas) == message["content"] == "a b\nc "
    assert {d["messageId"] for d in deltas} == {message["messageId"]}


async def test_calls_of_one_response_are_asked_and_judged_one_by_one(tmp_path: Path) -> None:
    """Answered in the order 2, 3, 1 with mixed outcomes, the results stay with their calls."""
    names = ["one.txt", "two.txt", "three.txt"]
    uses: list[Json] = [{"tool": "file:read", "args": {"path": name}} for name in names]
    uses.append({"tool": "file:list"})
    policy = {"rules": [{"tool": "file:read", "decision": "REQUIRE_USER_CONFIRMATION"}]}
    loop = script(tmp_path, [{"tools": uses}, {"text": "fertig"}])
    async with talking(tmp_path, policy=policy, agent_loop=loop) as talk:
        for name in names:
            (tmp_path / "project" / name).write_text(name)
        await talk.say("x")
        questions = {q["args"]["path"]: q for q in [await talk.asked() for _ in names]}
        for name, approved in (("two.txt", True), ("three.txt", False), ("one.txt", True)):
            await talk.answer(questions[name], approved=approved)
        events = await talk.turn()
        assert await calls(talk) == [
            ("file:read", "ok"),
            ("file:read", "ok"),
            ("file:read", "denied"),
            ("file:list", "ok"),
        ]
    assert events[-2]["payload"]["content"] == "fertig"


async def test_input_during_a_turn_is_queued_in_order(tmp_path: Path) -> None:
    loop = script(tmp_path, [{"wait_ms": 100}, {"text": "one"}], [{"text": "two"}])
    async with talking(tmp_path, agent_loop={**loop, "max_queued": 2}) as talk:
        await talk.say("a")
        await talk.until("onAgentStateChange", state="thinking")
        await talk.say("b")
        await talk.say("c")
        with pytest.raises(CallError) as full:
            await talk.say("d")
        events = [*await talk.turn(), *await talk.turn(), *await talk.turn()]
        rows = await talk.stage.runtime.store.all(
            "select json_extract(body, '$.text') as text from agent_messages "
            "where role = 'user' order by number"
        )
    assert full.value.code == "too_many_inputs"
    assert [e["payload"]["content"] for e in events if e["type"] == "onNewMessage"] == [
        "one",
        "two",
        "one",
    ]
    assert [row["text"] for row in rows] == ["a", "b", "c"]
    assert shape(events).count("waiting_for_input") == 3


PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 50).decode()


BIG = base64.b64encode(b"GIF8" + b"0" * 90).decode()
ATTACHMENTS: list[tuple[dict[str, Any], str | None]] = [
    ({"type": "image", "data": PIXEL}, None),
    ({"type": "image", "data": PIXEL, "mimeType": "image/png"}, None),
    ({"type": "image", "data": PIXEL, "mimeType": "image/gif"}, "invalid_attachment"),
    ({"type": "image", "data": "***"}, "invalid_attachment"),
    ({"type": "image", "data": "aGVsbG8="}, "invalid_attachment"),
    ({"type": "image", "data": PIXEL, "mimeType": "text/html"}, "unsupported_type"),
    ({"type": "video", "data": PIXEL}, "unsupported_type"),
    ({"type": "image", "data": BIG}, "payload_too_large"),
]


async def test_attachments_are_pictures_of_a_bearable_size(tmp_path: Path) -> None:
    async with talking(tmp_path, agent_loop={"max_image_bytes": 60, "max_images": 1}) as talk:
        for attachment, code in ATTACHMENTS:
            if code is None:
                await talk.say("見て", attachments=[attachment])
                await talk.turn()
                continue
            with pytest.raises(CallError) as refused:
                await talk.say("見て", attachments=[attachment])
            assert refused.value.code == code, attachment
        with pytest.raises(CallError) as too_many:
            await talk.say("見て", attachments=[{"type": "image", "data": PIXEL}] * 2)
        assert too_many.value.code == "payload_too_large"
        assert await talk.ask("まだ話せる") == "echo: まだ話せる"


async def test_one_sessions_question_and_endless_tool_leave_another_alone(tmp_path: Path) -> None:
    allow = {"rules": [{"tool": "shell:execute", "decision": "ALLOW"}, *CONFIRM_FILES["rules"]]}
    async with (
        talking(tmp_path, policy=allow) as endless,
        session(endless.stage, endless.person) as asking,
        session(endless.stage, endless.person) as third,
    ):
        await endless.say('!call shell:execute {"command": "sleep 1000"}')
        await endless.until("onAgentStateChange", state="executing_tool")
        await asking.say(READ)
        await asking.asked()
        for number in range(5):
            assert await third.ask(str(number)) == f"echo: {number}"
        for talk in (endless, asking):
            await talk.ui.command("cancelRun", {"sessionId": talk.session})
            await talk.turn()


async def calls(talk: PersonSession) -> list[tuple[str, str]]:
    rows = await talk.stage.runtime.store.all(
        "select name, status from agent_calls where session_id = ? order by message, place",
        talk.session,
    )
    return [(row["name"], row["status"]) for row in rows]
