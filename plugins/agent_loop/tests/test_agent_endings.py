"""Turns that do not end well: cancelled, failed, over budget, closed. The session stays usable."""

from __future__ import annotations

import asyncio
import fcntl
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_agent_loop.api import ModelProvider, Part, Prompt, Text, TextDelta, ToolCall, Usage
from aipm_agent_loop.input_queue import INPUTS
from aipm_agent_loop.plugin import AgentLoop
from aipm_agent_loop.testing import PersonSession, script, session, shape, talking
from aipm_devkit.testing import running
from aipm_processes import launcher
from aipm_ui_gateway.testing import served

from aipm_core import (
    Access,
    AnyTool,
    Authorizer,
    Call,
    CallError,
    ConfigError,
    Json,
    NoArguments,
    Plugin,
    ReplyReplaced,
    Stage,
    Tool,
    Tx,
    hookimpl,
    new_id,
)
from aipm_core.errors import PluginError

Behaviour = Callable[[Prompt], AsyncGenerator[Part]]


def puppet(behave: Behaviour) -> type[Plugin]:
    """Make a plugin whose provider does what a test says."""

    class Puppet(Plugin):
        @hookimpl(optionalhook=True)
        def aipm_model_providers(self) -> Iterable[ModelProvider]:
            yield ModelProvider(name="puppet", make=lambda: self)

        def respond(self, prompt: Prompt) -> AsyncGenerator[Part]:
            return behave(prompt)

    return Puppet


PUPPET = {"provider": "puppet"}


class Tools(Plugin):
    """Tools that misbehave."""

    cancelled = False

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        for name, run in (("sleep", self._sleep), ("boom", self._boom)):
            yield Tool(
                name=name,
                run=run,
                access=Access.SESSION,
                description="x",
                deadline=0.2 if name == "sleep" else 30,
            )

    async def _sleep(self, call: Any, args: NoArguments) -> Json:
        try:
            await anyio.sleep_forever()
        except asyncio.CancelledError:
            Tools.cancelled = True
            raise

    async def _boom(self, call: Any, args: NoArguments) -> Json:
        raise OSError("secret detail")


async def open_calls(talk: PersonSession) -> int:
    rows = await talk.stage.runtime.store.all("select 1 from agent_calls where status is null")
    return len(rows)


async def test_a_tool_that_hangs_is_cancelled_and_one_that_breaks_is_a_result(
    tmp_path: Path,
) -> None:
    Tools.cancelled = False
    async with talking(tmp_path, Tools) as talk:
        assert "internal_error" in await talk.ask("!call sleep {}")
        assert Tools.cancelled
        answer = await talk.ask("!call boom {}")
        assert "internal_error" in answer
        assert "secret detail" not in answer
        assert await open_calls(talk) == 0


@pytest.mark.parametrize("phase", ["thinking", "streaming", "executing", "awaiting"])
async def test_a_run_can_be_cancelled_at_any_point(tmp_path: Path, phase: str) -> None:
    async def stream(prompt: Prompt) -> AsyncGenerator[Part]:
        yield TextDelta("half of")
        await anyio.sleep_forever()

    steps: dict[str, list[dict[str, Json]]] = {
        "thinking": [{"wait_ms": 3_600_000}],
        "streaming": [],
        "executing": [{"tool": "shell:execute", "args": {"command": "sleep 1000"}}],
        "awaiting": [{"tool": "file:list"}],
    }
    rules = [
        {"tool": "shell:execute", "decision": "ALLOW"},
        {"tool": "file:list", "decision": "REQUIRE_USER_CONFIRMATION"},
    ]
    loop = PUPPET if phase == "streaming" else script(tmp_path, steps[phase], [{"text": "weiter"}])
    async with talking(tmp_path, puppet(stream), agent_loop=loop, policy={"rules": rules}) as talk:
        await talk.say("los")
        marks = {"thinking": "thinking", "executing": "executing_tool"}
        if phase in marks:
            await talk.until("onAgentStateChange", state=marks[phase])
        elif phase == "streaming":
            await talk.until("onMessageDelta")
        else:
            question = await talk.asked()
        ack = await talk.ui.command("cancelRun", {"sessionId": talk.session})
        assert ack["cancelled"] is True
        events = await talk.turn()
        assert "onNewMessage" not in shape(events)
        assert await open_calls(talk) == 0
        if phase == "awaiting":
            with pytest.raises(CallError) as late:
                await talk.answer(question)
            assert late.value.code == "confirmation_already_answered"
            statuses = [e["payload"].get("status") for e in events]
            assert statuses.count("cancelled") == 2
        if phase != "streaming":
            assert await talk.ask("noch einmal") == "weiter"
        nothing = await talk.ui.command("cancelRun", {"sessionId": talk.session})
        assert nothing["cancelled"] is False


async def test_a_model_that_fails_tells_its_session_once_and_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(prompt: Prompt) -> AsyncGenerator[Part]:
        if prompt.messages[-1].text == "fail":  # type: ignore[union-attr]
            yield TextDelta("so far")
            raise OSError("secret key 1234")
        yield Text(f"{len(prompt.messages)} messages")

    async with (
        talking(tmp_path, puppet(fail), agent_loop=PUPPET) as talk,
        session(talk.stage, talk.person) as other,
    ):
        await talk.say("fail")
        events = await talk.turn()
        assert await talk.ask("weiter") == "2 messages"
        assert await other.ask("x") == "1 messages"
    assert shape(events) == ["thinking", "onMessageDelta", "onError", "waiting_for_input"]
    problem = events[2]["payload"]
    assert problem["code"] == "provider_error"
    assert "secret" not in problem["message"]
    assert problem["message"].split("inc_")[1][:12] in caplog.text


async def nonsense(prompt: Prompt) -> AsyncGenerator[Any]:
    yield "not a part"


async def nothing(prompt: Prompt) -> AsyncGenerator[Part]:
    for _ in ():
        yield Text("")


async def slow(prompt: Prompt) -> AsyncGenerator[Part]:
    await anyio.sleep_forever()
    yield Text("never")


async def insatiable(prompt: Prompt) -> AsyncGenerator[Part]:
    yield ToolCall(id=new_id("call"), name="file:list")
    yield ToolCall(id=new_id("call"), name="file:list")


async def wordy(prompt: Prompt) -> AsyncGenerator[Part]:
    yield Text("word " * 100)
    yield ToolCall(id=new_id("call"), name="file:list")


async def costly(prompt: Prompt) -> AsyncGenerator[Part]:
    yield Text("x")
    yield Usage(5000)


@pytest.mark.parametrize(
    ("behave", "limits", "code"),
    [
        (nonsense, {}, "provider_error"),
        (nothing, {}, "empty_response"),
        (slow, {"model_seconds": 0.1}, "model_timeout"),
        (insatiable, {"max_steps": 3}, "budget_exceeded"),
        (insatiable, {"max_tool_calls": 3}, "budget_exceeded"),
        (wordy, {"max_tokens": 300}, "budget_exceeded"),
        (costly, {"max_session_tokens": 4999}, "budget_exceeded"),
    ],
)
async def test_limits_end_a_run_and_leave_no_call_open(
    tmp_path: Path, behave: Behaviour, limits: dict[str, Any], code: str
) -> None:
    async with talking(tmp_path, puppet(behave), agent_loop={**PUPPET, **limits}) as talk:
        await talk.say("los")
        events = await talk.turn()
        assert await open_calls(talk) == 0
    assert shape(events)[-2:] == ["onError", "waiting_for_input"]
    assert events[-2]["payload"]["code"] == code


async def test_closing_a_session_ends_its_run_and_drops_its_queue(tmp_path: Path) -> None:
    loop = script(tmp_path, [{"wait_ms": 3_600_000}])
    async with (
        talking(tmp_path, agent_loop=loop) as talk,
        session(talk.stage, talk.person) as other,
    ):
        await other.say("bleibt")
        await talk.say("a")
        await talk.until("onAgentStateChange", state="thinking")
        await talk.say("b")
        await talk.ui.command("closeSession", {"sessionId": talk.session})
        store = talk.stage.runtime.store

        async def ended() -> list[tuple[str, str]] | None:
            rows = await store.all(
                "select session_id, status from agent_runs order by started_at, id"
            )
            found = {(row["session_id"], row["status"]) for row in rows}
            return sorted(found) if (talk.session, "cancelled") in found else None

        found = await store.wait_until((f"events:{talk.session}",), ended, 10)
        assert found is not None
        assert (other.session, "running") in found
        queue = await store.all(
            "select status from agent_inputs where session_id = ? order by number", talk.session
        )
        assert [row["status"] for row in queue] == ["taken", "dropped"]
        with pytest.raises(CallError) as gone:
            await talk.say("c")
        assert gone.value.code == "session_not_found"


async def test_without_a_policy_there_is_no_shell(tmp_path: Path) -> None:
    async with served(AgentLoop) as stage:
        await stage.project()
        ann = await stage.person("ann")
        async with session(stage, ann) as talk:
            assert "tool_not_found" in await talk.ask('!call shell:execute {"command": "id"}')
            assert "working_directory_not_set" in await talk.ask("!call file:list {}")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"provider": "nobody"}, "known are pydantic_ai, scripted"),
        ({"provider": "pydantic_ai"}, "needs model = 'PROVIDER:NAME'"),
        (
            {"provider": "pydantic_ai", "model": "openai:x", "api_key_env": "NO_SUCH_KEY"},
            "'NO_SUCH_KEY'",
        ),
        ({"script": "missing.json"}, "missing.json"),
        ({"script": "bad.json"}, "turn.step 0.1"),
        ({"script": "twice.json"}, "appears twice"),
        ({"script": "empty.json"}, "has no turn"),
    ],
)
async def test_wrong_settings_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], sentence: str
) -> None:
    from aipm_sessions.plugin import Sessions
    from aipm_ui_gateway.plugin import UiGateway

    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.json").write_text('[[{"text": "a"}, {"tet": "b"}]]')
    (tmp_path / "twice.json").write_text('[[{"text": "a", "text": "b"}]]')
    (tmp_path / "empty.json").write_text("[]")
    with pytest.raises(ConfigError, match=sentence):
        async with running(Sessions, UiGateway, AgentLoop, agent_loop=settings):
            pass


def test_texts_exist_in_both_languages() -> None:
    from aipm_core import Texts

    assert Texts.load("aipm_agent_loop", "ja").keys() == Texts.load("aipm_agent_loop", "en").keys()


class Strange(Plugin):
    """Tools whose results are out of the ordinary."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        for name, run in (("large", self._large), ("usurped", self._usurped)):
            yield Tool(name=name, run=run, access=Access.SESSION, description="x")
        yield Tool(name="stopped", run=self._large, access=Access.SESSION, description="x")

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        yield Authorizer(name="stop", check=self._stop, stage=Stage.GATE)

    async def _stop(self, call: Call) -> None:
        if call.tool.name == "stopped":
            raise ReplyReplaced("stop and look")

    async def _large(self, call: Any, args: NoArguments) -> Json:
        return "x" * 70_000

    async def _usurped(self, call: Any, args: NoArguments) -> Json:
        """Let the run end as another process does that takes it for abandoned."""

        async def end(tx: Tx) -> None:
            await tx.run(
                "update agent_runs set status = 'interrupted' where session_id = ?", call.caller.id
            )

        await self.ctx.store.write(end)
        return "too late"


async def test_a_large_result_is_shown_in_part_and_told_in_full(tmp_path: Path) -> None:
    async with talking(tmp_path, Strange) as talk:
        await talk.say("!call large {}")
        events = await talk.turn()
    (result,) = [e["payload"]["result"] for e in events if e["type"] == "onToolCallResult"]
    assert (result["truncated"], len(result["preview"])) == (True, 65_536)
    (answer,) = [e["payload"]["content"] for e in events if e["type"] == "onNewMessage"]
    assert answer == "x" * 70_000


async def test_a_replaced_reply_is_what_the_agent_hears(tmp_path: Path) -> None:
    async with talking(tmp_path, Strange) as talk:
        assert await talk.ask("!call stopped {}") == "stop and look"


async def test_a_run_that_is_over_elsewhere_says_nothing_more(tmp_path: Path) -> None:
    async with talking(tmp_path, Strange) as talk:
        await talk.say("!call usurped {}")
        await talk.say("again")
        events = await talk.turn()
        assert [e["payload"]["content"] for e in events if e["type"] == "onNewMessage"] == [
            "echo: again"
        ]
        assert "onToolCallResult" not in shape(events)
        rows = await talk.stage.runtime.store.all("select status from agent_runs order by number")
    assert [row["status"] for row in rows] == ["interrupted", "completed"]


async def test_an_input_for_a_session_that_is_over_fails_alone(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk, session(talk.stage, talk.person) as other:
        assert await talk.ask("a") == "echo: a"
        await talk.ui.command("closeSession", {"sessionId": talk.session})
        store = talk.stage.runtime.store

        async def late(tx: Tx) -> None:
            await tx.run(
                "insert into agent_inputs (session_id, number, text, images, status, created_at) "
                "values (?, 2, 'b', '[]', 'queued', '')",
                talk.session,
            )
            tx.wake(INPUTS)

        async def ended() -> str | None:
            row = await store.one(
                "select status from agent_runs where session_id = ? and number = 2", talk.session
            )
            return None if row is None or row["status"] == "running" else str(row["status"])

        await store.write(late)
        assert await store.wait_until((f"events:{talk.session}",), ended, 10) == "failed"
        assert await other.ask("c") == "echo: c"


async def test_a_text_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    async with talking(tmp_path, agent_loop={"max_text": 5}) as talk:
        with pytest.raises(CallError) as refused:
            await talk.say("123456")
        assert refused.value.code == "payload_too_large"
        assert await talk.ask("12345") == "echo: 12345"


async def test_a_provider_is_offered_once() -> None:
    from aipm_sessions.plugin import Sessions
    from aipm_ui_gateway.plugin import UiGateway

    class Twice(puppet(nothing)):  # type: ignore[misc]
        @hookimpl(optionalhook=True)
        def aipm_model_providers(self) -> Iterable[ModelProvider]:
            yield ModelProvider(name="scripted", make=lambda: self)

    with pytest.raises(PluginError, match=r"plugin 'twice': provider 'scripted' is given twice"):
        async with running(Sessions, UiGateway, AgentLoop, Twice):
            pass


async def test_a_shell_needs_a_directory_that_is_there(tmp_path: Path) -> None:
    rules = [{"tool": "shell:execute", "decision": "ALLOW"}]
    async with talking(tmp_path, policy={"rules": rules}) as talk:
        (tmp_path / "project").rmdir()
        answer = await talk.ask('!call shell:execute {"command": "true"}')
        assert "working_directory_not_set" in answer


async def test_locks_of_the_dead_are_removed_and_no_others(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    dead, held, link = (data / f"wrk_{name}.lock" for name in ("dead", "held", "link"))
    dead.touch()
    link.symlink_to(tmp_path / "nowhere")
    with held.open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with talking(tmp_path, data_dir=data) as talk:
            assert await talk.ask("a") == "echo: a"
        assert (dead.exists(), held.exists(), link.is_symlink()) == (False, True, True)


LAUNCHER = str(Path(launcher.__file__))


@pytest.mark.parametrize(
    ("parent", "word", "code", "told"),
    [
        (os.getpid, "no-such-program", 127, "no-such-program: No such file or directory\n"),
        (os.getpid, "/", 126, "/: Permission denied\n"),
        (lambda: 1, "true", 126, ""),
    ],
)
def test_the_launcher_becomes_nothing_it_should_not(
    parent: Callable[[], int], word: str, code: int, told: str
) -> None:
    command = [sys.executable, LAUNCHER, str(parent()), "0", word]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, told)
