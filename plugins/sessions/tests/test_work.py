"""Which agent needs which session now, and how supervisors share the starting of them."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_conversations.plugin import Conversations
from aipm_delegation.plugin import Delegation
from aipm_file_chat.plugin import FileChat
from aipm_sessions.plugin import ROSTER
from aipm_sessions.roster import Claim, Roster
from aipm_sessions.testing import Team, team
from anyio import to_thread

from aipm_core import CallError
from aipm_core.testkit import Install

MINE = Claim(supervisor="mine", seconds=60)
YOURS = Claim(supervisor="yours", seconds=60)


class Watch:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


@asynccontextmanager
async def office(root: Path, watch: Watch | None = None) -> AsyncGenerator[tuple[Team, Roster]]:
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
        yield made, made.services.use(ROSTER)


async def keys(roster: Roster, claim: Claim | None = None) -> list[tuple[str, str, str]]:
    return [one.key for one in await roster.wait(None, claim, 0)]


ANN = ("p", "ann", "chat")
BOB = ("p", "bob", "chat")


async def test_a_session_is_needed_until_it_runs(tmp_path: Path) -> None:
    async with office(tmp_path) as (made, roster):
        (vacancy,) = await roster.wait(None, None, 0)
        assert (vacancy.key, vacancy.reasons) == (ANN, ("process_delegation",))
        chat = await made.session("ann")
        assert await keys(roster) == []
        await chat.ends()
        assert await keys(roster) == [ANN]


async def test_reasons_of_one_session_are_put_together(tmp_path: Path) -> None:
    async with office(tmp_path) as (made, roster):
        bob = await made.session("bob")
        await bob.does("send_message", target_agent_id="ann", content="hi")
        await bob.does("send_message", target_agent_id="pat", content="hi")
        (vacancy,) = await roster.wait(None, None, 0)
        assert vacancy.key == ANN
        assert len(vacancy.reasons) == 2
        with pytest.raises(CallError, match="there is no project 'elsewhere'"):
            await roster.wait("elsewhere", None, 0)


async def test_nobody_starts_a_person(tmp_path: Path) -> None:
    async with office(tmp_path) as (made, roster):
        bob = await made.session("bob")
        await bob.does("start_conversation", participant_agent_id="pat", initial_message="hi")
        assert await keys(roster) == [ANN]
        await bob.does("start_conversation", participant_agent_id="ann", initial_message="hi")
        (vacancy,) = await roster.wait(None, None, 0)
        assert {"conversation_request", "process_delegation"} < set(vacancy.reasons)


async def test_a_claim_is_given_once(tmp_path: Path) -> None:
    async with office(tmp_path) as (_, roster):
        got: list[tuple[str, str, str]] = []

        async def claim(number: int) -> None:
            got.extend(await keys(roster, Claim(supervisor=f"s{number}", seconds=60)))

        async with anyio.create_task_group() as supervisors:
            for number in range(20):
                supervisors.start_soon(claim, number)
        assert got == [ANN]
        (vacancy,) = await roster.wait(None, None, 0)
        assert vacancy.claimed_by is not None


async def test_a_claim_ends_with_its_lease(tmp_path: Path) -> None:
    watch = Watch()
    async with office(tmp_path, watch) as (_, roster):
        assert await keys(roster, MINE) == [ANN]
        watch.time += 59
        assert await keys(roster, YOURS) == []
        watch.time += 2
        assert await keys(roster, YOURS) == [ANN]


async def test_a_claim_ends_when_its_session_opens(tmp_path: Path) -> None:
    async with office(tmp_path) as (made, roster):
        assert await keys(roster, MINE) == [ANN]
        chat = await made.session("ann")
        assert await keys(roster, YOURS) == []
        await chat.ends()
        assert await keys(roster, YOURS) == [ANN]


async def test_the_end_of_a_process_ends_its_sessions_and_no_other(tmp_path: Path) -> None:
    async with office(tmp_path) as (made, roster):
        earlier = await made.session("bob")
        (claimed,) = await roster.wait(None, MINE, 0)
        assert claimed.claim_id is not None
        task = await made.session("ann", "task")
        unanswered, again = await made.session("ann"), await made.session("ann")
        assert await roster.claims.end(claimed.claim_id) == 2
        for gone in (unanswered, again):
            assert (await gone.refused("help_or_whatever")).code == "tool_not_found"
            assert (await gone.refused("logout")).code == "session_invalid"
        for alive in (earlier, task):
            await alive.does("logout")
        with pytest.raises(CallError, match="there is no claim"):
            await roster.claims.end(claimed.claim_id)


async def test_a_limit_leaves_the_rest_to_others(tmp_path: Path) -> None:
    async with office(tmp_path) as (made, roster):
        task = await made.session("bob", "task")
        await task.does("delegate_to_chat_session", target_agent_id="ann", purpose="hello")
        one = Claim(supervisor="mine", seconds=60, limit=1)
        assert await keys(roster, one) == [ANN]
        assert await keys(roster, YOURS) == [BOB]


async def test_a_supervisor_in_another_process_is_woken(tmp_path: Path) -> None:
    install = Install.make(tmp_path, 'data_dir = "data"\n')
    async with office(tmp_path) as (made, _):
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
    async with office(tmp_path) as (made, roster):
        (claimed,) = await roster.wait(None, MINE, 0)
        gone = await made.session("ann")
        told = install.run("work", "--ended", str(claimed.claim_id)).stdout
        assert told == f"released {claimed.claim_id}; ended its session\n"
        assert (await gone.refused("logout")).code == "session_invalid"
        (claimed,) = await roster.wait(None, MINE, 0)
        assert json.loads(_work(install, "--ended", str(claimed.claim_id))[0])["data"] == {
            "claim_id": claimed.claim_id,
            "sessions_ended": 0,
        }


async def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    install = Install.make(tmp_path, 'data_dir = "data"\n')
    async with office(tmp_path):
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
        }


def _work(install: Install, *options: str) -> tuple[str, int]:
    done = install.run("work", *options, "--json", check=None)
    return done.stdout, done.returncode
