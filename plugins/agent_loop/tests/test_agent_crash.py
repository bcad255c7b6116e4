"""The real program is killed in the middle of a turn; after a restart everything is in order."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from typing import Any

import anyio
import pytest
from aipm_agent_loop.testing import PersonSession
from aipm_devkit.program import Install
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.client.ui_client import connected

TOML = """
[plugins.agent_loop]
script = "script.json"
[[plugins.policy.rules]]
tool = "file:list"
decision = "REQUIRE_USER_CONFIRMATION"
[[plugins.policy.rules]]
tool = "shell:execute"
decision = "ALLOW"
"""
SLEEP = 100_000 + os.getpid()
FIRST: dict[str, list[dict[str, Any]]] = {
    "thinking": [{"wait_ms": 3_600_000}],
    "executing_tool": [
        {
            "tools": [
                {"tool": "file:read", "args": {"path": "a"}},
                {"tool": "shell:execute", "args": {"command": f"sleep {SLEEP}"}},
            ]
        },
    ],
    "awaiting_confirmation": [{"tool": "file:list"}],
}


async def prepare(root: Path, first: list[dict[str, Any]]) -> tuple[Install, str]:
    aipm = Install.make(root, TOML)
    turns = [first, [{"text": "zweite"}], [{"text": "dritte"}]]
    (root / "script.json").write_text(json.dumps(turns))
    async with running(Sessions, data_dir=root / ".aipm-data") as made:
        administration = made.runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "p", root / "project")
        common: dict[str, Any] = {"project_id": "p", "role": "worker", "parent": None}
        await administration.add_agent("bot", name="bot", kind="ai", **common)
        await administration.add_agent("ann", name="ann", kind="human", **common)
        return aipm, (await administration.add_token("ann"))["token"]


async def until_program(*, runs: bool) -> None:
    wanted = f"sleep\0{SLEEP}".encode()
    with anyio.fail_after(10):
        while runs != any(line.startswith(wanted) for line in command_lines()):  # noqa: ASYNC110
            await anyio.sleep(0.01)  # the process table rings no bell


def command_lines() -> Iterator[bytes]:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield entry.read_bytes()


def runs(root: Path) -> list[tuple[int, str]]:
    with sqlite3.connect(root / ".aipm-data" / "aipm.db") as db:
        assert db.execute("select * from agent_calls where status is null").fetchall() == []
        assert db.execute("select * from confirmations where status = 'pending'").fetchall() == []
        return db.execute("select number, status from agent_runs order by number").fetchall()


@pytest.mark.parametrize("phase", [*FIRST])
async def test_a_killed_turn_is_closed_after_the_restart(tmp_path: Path, phase: str) -> None:
    aipm, token = await prepare(tmp_path, FIRST[phase])
    with aipm.up() as server:
        async with connected(server.ready["ws"], token) as ui:
            ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            talk = PersonSession(None, None, ui, ack["sessionId"])  # type: ignore[arg-type]
            await talk.say("eins")
            await talk.until("onAgentStateChange", state=phase)
            await talk.say("zwei")
            await until_program(runs=phase == "executing_tool")
            server.process.send_signal(SIGKILL)
            server.process.wait()
        await until_program(runs=False)
        last_seq = ui.last_seq[talk.session]
    with aipm.up() as server:
        async with connected(server.ready["ws"], token) as ui:
            talk = PersonSession(None, None, ui, talk.session)  # type: ignore[arg-type]
            await ui.command("openSession", {"sessionId": talk.session, "lastSeq": last_seq})
            closing = await talk.turn()
            queued = await talk.turn()
            assert await talk.ask("drei") == "dritte"
    errors = [e["payload"]["code"] for e in closing if e["type"] == "onError"]
    assert errors == ["run_interrupted"]
    assert [e["payload"]["content"] for e in queued if e["type"] == "onNewMessage"] == ["zweite"]
    sequence = [event["seq"] for event in (*closing, *queued)]
    assert sequence == list(range(last_seq + 1, last_seq + 1 + len(sequence)))
    assert runs(tmp_path) == [(1, "interrupted"), (2, "completed"), (3, "completed")]
    assert [path.name for path in (tmp_path / ".aipm-data").glob("wrk_*.lock")] == []


async def stopped_while_asking(aipm: Install, token: str, *queued: str) -> str:
    """Stop the server in the middle of a turn, with inputs behind it; return the session."""
    with aipm.up() as server:
        async with connected(server.ready["ws"], token) as ui:
            ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            talk = PersonSession(None, None, ui, ack["sessionId"])  # type: ignore[arg-type]
            await talk.say("eins")
            await talk.until("onAgentStateChange", state="awaiting_confirmation")
            for text in queued:
                await talk.say(text)
        server.process.terminate()
        assert server.process.wait(timeout=10) == 0
    return str(talk.session)


async def test_a_stop_closes_the_turn_itself(tmp_path: Path) -> None:
    aipm, token = await prepare(tmp_path, FIRST["awaiting_confirmation"])
    await stopped_while_asking(aipm, token)
    assert runs(tmp_path) == [(1, "interrupted")]


async def test_a_stop_leaves_the_queue_to_the_next_start(tmp_path: Path) -> None:
    aipm, token = await prepare(tmp_path, FIRST["awaiting_confirmation"])
    session = await stopped_while_asking(aipm, token, "zwei", "drei")
    assert runs(tmp_path) == [(1, "interrupted")]
    with aipm.up() as server:
        async with connected(server.ready["ws"], token) as ui:
            talk = PersonSession(None, None, ui, session)  # type: ignore[arg-type]
            await ui.command("openSession", {"sessionId": session, "lastSeq": 0})
            turns = [await talk.turn() for _ in range(3)]
    said = [e["payload"]["content"] for t in turns for e in t if e["type"] == "onNewMessage"]
    assert said == ["zweite", "dritte"]


async def test_other_commands_of_the_program_do_not_touch_a_running_turn(tmp_path: Path) -> None:
    aipm, token = await prepare(tmp_path, FIRST["awaiting_confirmation"])
    with aipm.up() as server:
        async with connected(server.ready["ws"], token) as ui:
            ack = await ui.command("openSession", {"projectId": "p", "agentId": "bot"})
            talk = PersonSession(None, None, ui, ack["sessionId"])  # type: ignore[arg-type]
            await talk.say("eins")
            question = await talk.asked()
            aipm.json("audit", "list")
            await talk.answer(question)
            events = await talk.turn()
    assert [e["payload"]["status"] for e in events if e["type"] == "onToolCallResult"] == ["ok"]
