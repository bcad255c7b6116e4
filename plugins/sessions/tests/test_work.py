"""Which agent needs which session now, and how supervisors share the starting of them."""

import json
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_conversations.plugin import Conversations
from aipm_delegation.plugin import Delegation
from aipm_devkit.program import AIPM, Install
from aipm_file_chat.plugin import FileChat
from aipm_sessions.missing_sessions import Claim, SqlMissingSessions
from aipm_sessions.plugin import WORK_CLAIMS
from aipm_sessions.testing import Team, team
from anyio import to_thread

from aipm_core import CallError

MINE = Claim(supervisor="mine", seconds=60)
YOURS = Claim(supervisor="yours", seconds=60)


class ManualClock:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


@asynccontextmanager
async def delegating_team(
    root: Path, watch: ManualClock | None = None
) -> AsyncGenerator[tuple[Team, SqlMissingSessions]]:
    """Give a team in which ``ann`` has delegated something, so her chat session is needed."""
    more: dict[str, Any] = {"clock": watch} if watch else {}
    async with team(
        FileChat,
        Conversations,
        Delegation,
        root=root,
        data_dir=root / "data",
        sessions={"idle_seconds": 1e9, "hard_seconds": 1e9},
        **more,
    ) as made:
        await made.add("ann", "bob")
        await made.add("pat", kind="human")
        task = await made.session("ann", "task")
        await task.does("delegate_to_chat_session", target_agent_id="bob", purpose="hello")
        yield made, made.services.use(WORK_CLAIMS)


async def keys(
    missing_sessions: SqlMissingSessions, claim: Claim | None = None
) -> list[tuple[str, str, str]]:
    return [one.key for one in await missing_sessions.wait(None, claim, 0)]


ANN = ("p", "ann", "chat")
BOB = ("p", "bob", "chat")


async def test_a_session_is_needed_until_it_runs(tmp_path: Path) -> None:
    async with delegating_team(tmp_path) as (made, missing_sessions):
        (session,) = await missing_sessions.wait(None, None, 0)
        assert (session.key, session.reasons) == (ANN, ("process_delegation",))
        chat = await made.session("ann")
        assert await keys(missing_sessions) == []
        await chat.ends()
        assert await keys(missing_sessions) == [ANN]


async def test_reasons_of_one_session_are_put_together(tmp_path: Path) -> None:
    async with delegating_team(tmp_path) as (made, missing_sessions):
        bob = await made.session("bob")
        await bob.does("send_message", target_agent_id="ann", content="hi")
        await bob.does("send_message", target_agent_id="pat", content="hi")
        (session,) = await missing_sessions.wait(None, None, 0)
        assert session.key == ANN
        assert len(session.reasons) == 2
        with pytest.raises(CallError, match="there is no project 'elsewhere'"):
            await missing_sessions.wait("elsewhere", None, 0)


async def test_nobody_starts_a_person(tmp_path: Path) -> None:
    async with delegating_team(tmp_path) as (made, missing_sessions):
        bob = await made.session("bob")
        await bob.does("start_conversation", participant_agent_id="pat", initial_message="hi")
        assert await keys(missing_sessions) == [ANN]
        await bob.does("start_conversation", participant_agent_id="ann", initial_message="hi")
        (session,) = await missing_sessions.wait(None, None, 0)
        assert {"conversation_request", "process_delegation"} < set(session.reasons)


async def test_a_claim_is_given_once(tmp_path: Path) -> None:
    async with delegating_team(tmp_path) as (_, missing_sessions):
        got: list[tuple[str, str, str]] = []

        async def claim(number: int) -> None:
            got.extend(await keys(missing_sessions, Claim(supervisor=f"s{number}", seconds=60)))

        async with anyio.create_task_group() as supervisors:
            for number in range(20):
                supervisors.start_soon(claim, number)
        assert got == [ANN]
        (session,) = await missing_sessions.wait(None, None, 0)
        assert session.claimed_by is not None


async def test_a_claim_ends_with_its_lease(tmp_path: Path) -> None:
    watch = ManualClock()
    async with delegating_team(tmp_path, watch) as (_, missing_sessions):
        assert await keys(missing_sessions, MINE) == [ANN]
        watch.time += 59
        assert await keys(missing_sessions, YOURS) == []
        watch.time += 2
        assert await keys(missing_sessions, YOURS) == [ANN]


async def test_a_claim_ends_when_its_session_opens(tmp_path: Path) -> None:
    async with delegating_team(tmp_path) as (made, missing_sessions):
        assert await keys(missing_sessions, MINE) == [ANN]
        chat = await made.session("ann")
        assert await keys(missing_sessions, YOURS) == []
        await chat.ends()
        assert await keys(missing_sessions, YOURS) == [ANN]


async def test_the_end_of_a_process_ends_its_sessions_and_no_other(tmp_path: Path) -> None:
    async with delegating_team(tmp_path) as (made, missing_sessions):
        earlier = await made.session("bob")
        (claimed,) = await missing_sessions.wait(None, MINE, 0)
        assert claimed.claim_id is not None
        task = await made.session("ann", "task")
        unanswered, again = await made.session("ann"), await made.session("ann")
        assert await missing_sessions.claims.end(claimed.claim_id) == 2
        for gone in (unanswered, again):
            assert (await gone.refused("help_or_whatever")).code == "tool_not_found"
            assert (await gone.refused("logout")).code == "session_invalid"
        for alive in (earlier, task):
            await alive.does("logout")
        with pytest.raises(CallError, match="there is no claim"):
            await missing_sessions.claims.end(claimed.claim_id)


async def test_a_limit_leaves_the_rest_to_others(tmp_path: Path) -> None:
    async with delegating_team(tmp_path) as (made, missing_sessions):
        task = await made.session("bob", "task")
        await task.does("delegate_to_chat_session", target_agent_id="ann", purpose="hello")
        one = Claim(supervisor="mine", seconds=60, limit=1)
        assert await keys(missing_sessions, one) == [ANN]
        assert await keys(missing_sessions, YOURS) == [BOB]


async def test_claims_of_one_go_round_whether_the_one_before_succeeded_or_not(
    tmp_path: Path,
) -> None:
    """A program that cannot be started must not keep the others from ever being tried."""
    watch = ManualClock()
    async with delegating_team(tmp_path, watch) as (made, missing_sessions):
        task = await made.session("bob", "task")
        await task.does("delegate_to_chat_session", target_agent_id="ann", purpose="hello")
        one, got = Claim(supervisor="mine", seconds=60, limit=1), list[tuple[str, str, str]]()
        for _ in range(2):
            (claimed,) = await missing_sessions.wait(None, one, 0)
            got.append(claimed.key)
            assert claimed.claim_id is not None
            await missing_sessions.claims.end(claimed.claim_id)
        for _ in range(2):
            got += await keys(missing_sessions, one)
            watch.time += 61  # nothing opened within the lease
        assert got == [ANN, BOB, ANN, BOB]
        assert [one.key for one in await missing_sessions.list_missing(made.store)] == [ANN, BOB]


async def test_a_session_that_was_never_tried_comes_first(tmp_path: Path) -> None:
    async with delegating_team(tmp_path) as (made, missing_sessions):
        (claimed,) = await missing_sessions.wait(None, MINE, 0)
        assert claimed.claim_id is not None
        await missing_sessions.claims.end(claimed.claim_id)
        task = await made.session("bob", "task")
        await task.does("delegate_to_chat_session", target_agent_id="ann", purpose="hello")
        assert await keys(missing_sessions, Claim(supervisor="mine", seconds=60, limit=1)) == [BOB]


async def test_a_supervisor_in_another_process_is_woken(tmp_path: Path) -> None:
    install = Install.make(tmp_path, 'data_dir = "data"\n')
    async with delegating_team(tmp_path) as (made, _):
        first = json.loads(_work(install, "--claim", "--supervisor", "first")[0])["data"]
        assert [(one["agent_id"], one["purpose"]) for one in first] == [("ann", "chat")]
        assert first[0]["claim_id"].startswith("clm_")
        outputs: list[str] = []

        async def supervise() -> None:
            options = ("--wait", "50", "--claim", "--supervisor", "second")
            outputs.append((await to_thread.run_sync(_work, install, *options))[0])

        async with anyio.create_task_group() as supervisors:
            supervisors.start_soon(supervise)
            task = await made.session("bob", "task")
            await task.does("delegate_to_chat_session", target_agent_id="ann", purpose="hello")
        assert [one["agent_id"] for one in json.loads(outputs[0])["data"]] == ["bob"]


async def test_a_supervisor_says_that_its_process_is_gone(tmp_path: Path) -> None:
    install = Install.make(tmp_path, 'data_dir = "data"\n')
    async with delegating_team(tmp_path) as (made, missing_sessions):
        (claimed,) = await missing_sessions.wait(None, MINE, 0)
        gone = await made.session("ann")
        told = install.run("work", "--ended", str(claimed.claim_id)).stdout
        assert told == f"released {claimed.claim_id}; ended its session\n"
        assert (await gone.refused("logout")).code == "session_invalid"
        (claimed,) = await missing_sessions.wait(None, MINE, 0)
        assert json.loads(_work(install, "--ended", str(claimed.claim_id))[0])["data"] == {
            "claim_id": claimed.claim_id,
            "sessions_ended": 0,
        }


async def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    install = Install.make(tmp_path, 'data_dir = "data"\n')
    async with delegating_team(tmp_path):
        assert _work(install, "--claim")[1] == 2
        assert _work(install, "--ended", "clm_unknown")[1] == 3
        out, code = _work(install)
        assert code == 0
        (row,) = json.loads(out)["data"]
        assert row == {
            "agent_id": "ann",
            "project_id": "p",
            "purpose": "chat",
            "reasons": ["process_delegation"],
            "claimed_by": None,
            "claimed_until": None,
            "state": "no_program",
            "run_id": None,
            "until": None,
            "text": row["text"],
        }


def _work(install: Install, *options: str) -> tuple[str, int]:
    done = install.run("work", *options, "--json", check=None)
    return done.stdout, done.returncode


def test_waiting_for_work_prints_a_line_for_each_need_as_it_arises(tmp_path: Path) -> None:
    install = Install.make(tmp_path, 'locale = "en"\n[server]\nport = 0\n')
    install.run("project", "add", "p")
    install.run("agent", "add", "ann", "--project", "p")
    add = ("task", "add", "--project", "p", "--title", "t", "--assignee", "ann")
    first = install.json(*add, "--status", "todo")["id"]
    follow = [str(AIPM), "work", "--wait", "600", "--json"]
    with subprocess.Popen(
        follow, cwd=tmp_path, env=install.env(), stdout=subprocess.PIPE, text=True
    ) as work:
        assert work.stdout is not None
        assert json.loads(work.stdout.readline())["data"]["reasons"] == [f"task {first}"]
        install.run("task", "status", first, "cancelled")
        second = install.json(*add, "--status", "todo")["id"]
        row = json.loads(work.stdout.readline())["data"]
        assert (row["agent_id"], row["reasons"]) == ("ann", [f"task {second}"])
        assert row["state"] == "no_program"
        work.terminate()
    told = install.json("work", "--why")
    assert [one["agent_id"] for one in told["needs"]] == ["ann"]
    install.json("task", "add", "--project", "p", "--title", "u", "--status", "todo")
    told = install.json("work", "--why")
    assert [(one["cause"], one["agent_id"]) for one in told["waits"]] == [("unassigned", None)]
