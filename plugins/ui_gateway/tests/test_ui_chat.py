"""``aipm chat``: the program in a process of its own, talking to a served runtime."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import anyio
import pytest
from aipm_devkit.program import Install
from aipm_sessions.api import Agent
from aipm_ui_gateway import api
from aipm_ui_gateway.testing import ServedTeam, command, served

from aipm_core import AnyTool, Json, Plugin, Tx, hookimpl

NASTY = "\x1b[2J\x1b]0;owned\x07 \x1b]52;c;AAAA\x07 \x9b31m \u202egnp.exe \r> Allow? [y/N]"


class Asker(Plugin):
    """An agent that asks before everything it is told to do, and answers like a villain."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        for name, model, run in (
            ("submitUserInput", api.SubmitUserInput, self.hear),
            ("provideConfirmation", api.ProvideConfirmation, self.judge),
        ):
            yield command(self.ctx, name, model, run)

    async def hear(
        self, tx: Tx, person: Agent, session: api.UiSession | None, payload: api.SubmitUserInput
    ) -> Mapping[str, Json]:
        assert session is not None
        record = self.ctx.events.record
        await record(tx, api.agent_state(session.id, "thinking"))
        if not payload.text.startswith("run"):
            await record(tx, api.message_delta(session.id, "m1", "echo: "))
            await record(tx, api.message_delta(session.id, "m1", payload.text + NASTY))
            text = f"echo: {payload.text}{NASTY}"
            await record(tx, api.new_message(session.id, text, message_id="m1"))
            await record(tx, api.agent_state(session.id, "waiting_for_input"))
            return {}
        question = api.ToolCallRequest(
            confirmationId=f"cnf_{session.id}",
            toolName="shell:execute" + NASTY,
            args={"command": "ls" + NASTY},
            security_warning=api.SecurityWarning(
                level="CRITICAL" if "critical" in payload.text else "WARN", message="sure?" + NASTY
            ),
            expiresAt="2026-01-23T10:00:00.000Z",
        )
        await record(tx, api.tool_call_request(session.id, question))
        return {}

    async def judge(
        self, tx: Tx, person: Agent, session: api.UiSession | None, payload: api.ProvideConfirmation
    ) -> Mapping[str, Json]:
        of = payload.confirmationId.removeprefix("cnf_")
        status: api.Resolution = "approved" if payload.approved else "denied"
        record = self.ctx.events.record
        await record(tx, api.confirmation_resolved(of, payload.confirmationId, status))
        await record(tx, api.new_message(of, f"it was {status}"))
        await record(tx, api.agent_state(of, "waiting_for_input"))
        return {}


async def typed(stage: ServedTeam, tmp_path: Path, text: str, *args: str) -> str:
    """Run the program with standard input and return what it wrote."""
    ann = await stage.person("ann")
    install = Install.make(tmp_path)
    process = await anyio.run_process(
        [install_path(), "chat", "bot", "--project", "p", "--url", stage.url, *args],
        input=text.encode(),
        env={**install.env(), "AIPM_UI_TOKEN": ann.token, "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout.decode()


def install_path() -> str:
    import sys

    return str(Path(sys.executable).with_name("aipm"))


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ("run\ny\n", "approved"),
        ("run\nn\n", "denied"),
        ("run\n\n", "denied"),
        ("run\nmaybe\nyes\n", "approved"),
        ("run critical\ny\nno\n", "denied"),
        ("run critical\nyes\n", "approved"),
    ],
)
async def test_a_question_is_answered_before_the_talk_goes_on(
    tmp_path: Path, answers: str, status: str
) -> None:
    async with served(Asker) as stage:
        await stage.project()
        out = await typed(stage, tmp_path, answers)
        assert f"it was {status}" in out
        assert (
            await stage.runtime.services.use(api.UI_SESSIONS).owned_by(stage.runtime.store, "ann")
            == []
        )


async def test_nothing_an_agent_says_acts_on_the_terminal(tmp_path: Path) -> None:
    async with served(Asker) as stage:
        await stage.project()
        out = await typed(stage, tmp_path, "hi\nrun\ny\n")
        assert "echo: hi" in out
        assert out.count("echo: hi") == 1  # streamed, then not repeated
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out)


async def test_a_question_left_open_is_not_answered(tmp_path: Path) -> None:
    async with served(Asker) as stage:
        await stage.project()
        out = await typed(stage, tmp_path, "run\n")
        assert "aipm inbox" in out
        assert not await stage.runtime.store.all(
            "select 1 from events where type = 'onConfirmationResolved'"
        )


async def test_machines_get_one_object_a_line(tmp_path: Path) -> None:
    import json

    async with served(Asker) as stage:
        await stage.project()
        out = await typed(stage, tmp_path, "hi\n", "--json")
        frames = [json.loads(line) for line in out.split("\n") if line]
        assert [frame["type"] for frame in frames] == [
            "onAgentStateChange",
            "onMessageDelta",
            "onMessageDelta",
            "onNewMessage",
            "onAgentStateChange",
        ]
