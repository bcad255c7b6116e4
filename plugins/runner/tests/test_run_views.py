"""The view ``runs``, the fields of members, the inbox: the fold law, whatever happens to runs."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.testing import TestRuntime, running
from aipm_people_api.plugin import PeopleApi
from aipm_runner.plugin import SUPERVISOR, Runner
from aipm_runner.run_log import LogWriter
from aipm_runner.run_records import Usage
from aipm_runner.runs import Outcome, Run
from aipm_runner.views import SHOWN_ENDED
from aipm_sessions.api import DECISIONS, DIRECTORY, person_session
from aipm_sessions.plugin import AGENT_FIELDS, PAUSES, Sessions
from aipm_sessions.testing import Team
from aipm_tasks.api import TASKS, NewTask
from aipm_tasks.plugin import Tasks
from aipm_views.plugin import Views
from aipm_views.testing import Follower, check_fold_law
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aipm_core import CallError, Request

AGENTS = ("worker-1", "worker-2")
REASONS = ("ok", "process_failed", "program_missing", "runner_lost", "stopped_by_person")
FIELDS = {
    *("id", "agent_id", "project_id", "purpose", "task_id", "program", "state", "waits_for"),
    *("since", "evidence", "evidence_at", "session_id", "workspace", "branch", "base", "snapshot"),
    *("stop_by", "end_reason", "exit_code", "detail", "tokens", "cost_usd", "created_at"),
    *("ended_at", "undone_by", "undone_at", "advice"),
}


class RunWorld:
    """Two agents with a program, a person who looks, and one of another project."""

    def __init__(self, aipm: TestRuntime, team: Team) -> None:
        self.aipm = aipm
        self.team = team
        self.service = aipm.runtime.services.use
        self.alice, self.mallory = Follower("alice"), Follower("mallory", "q")
        self.supervisor: Any = self.service(SUPERVISOR)
        self.runs: Any = self.supervisor._runs

    async def call(self, tool: str, **given: Any) -> Any:
        """Call a tool for people in alice's name."""
        alice = await self.service(DIRECTORY).agent(self.team.store, "alice")
        assert alice is not None
        request = Request(
            tool=tool,
            arguments={"project_id": "p", **given},
            session=person_session(alice),
            audience="ui",
        )
        reply = await self.aipm.runtime.call(request)
        if reply.error is not None:
            raise CallError(reply.error.message, code=reply.error.code, status=400)
        return reply.result

    async def some(self, n: int, *, alive: bool) -> list[Run]:
        """Return one of the runs that are under way, or that have ended."""
        found = [r for r in await self.runs.newest(500, ["p"]) if (r.ended_at is None) == alive]
        return [found[n % len(found)]] if found else []

    async def task(self, n: int) -> None:
        """Give an agent something to do, here or elsewhere."""
        new = NewTask(
            project_id="p",
            title=f"t{n}",
            actor_id="alice",
            status="todo",
            assignee_id=AGENTS[n % 2],
        )
        await self.service(TASKS).add(new)

    async def program(self, n: int) -> None:
        """Give an agent a program, or take it away."""
        given = {"program": "script" if n % 3 else "", "model": f"m{n}"}
        await self.service(AGENT_FIELDS).edit(AGENTS[n % 2], given)

    async def claim(self, n: int) -> None:
        """Let a runner take what there is."""
        await self.supervisor._claims.claim("rnr_other", 1 + n % 2)

    async def enter(self, n: int) -> None:
        """Move a run on."""
        for run in await self.some(n, alive=True):
            waits = ("confirmation", "slot", None)[n % 3]
            state = "waiting" if waits else "running"
            await self.runs.enter(run.id, state, ("stream", "call")[n % 2], waits_for=waits)

    async def end(self, n: int) -> None:
        """End a run, well or badly."""
        for run in await self.some(n, alive=True):
            reason: Any = REASONS[n % len(REASONS)]
            await self.runs.end(run.id, Outcome(reason=reason, evidence="exit", detail="because"))

    async def log(self, n: int) -> None:
        """Let a run print."""
        for run in await self.some(n, alive=True):
            writer = LogWriter(self.supervisor._records, self.supervisor._ctx, run.id)
            writer.add("stdout", "hello")
            await writer.flush()

    async def use(self, n: int) -> None:
        """Let a run cost something, and find its account used up."""
        usage = Usage(cost_usd=n / 10, limit_until=4_000_000_000 if n % 2 else None)
        for run in await self.some(n, alive=True):
            await self.supervisor._records.use(run.id, usage)

    async def block(self, n: int) -> None:
        """Block a task, or let it go on."""
        for row in await self.team.store.all("select id from tasks order by seq limit 1"):
            status = "blocked" if n % 2 == 0 else "todo"
            await self.call("move_task", task_id=row["id"], status="in_progress")
            await self.call("move_task", task_id=row["id"], status=status)

    async def stop(self, n: int) -> None:
        """Stop a run."""
        for run in await self.some(n, alive=True):
            await self.call("stop_run", run_id=run.id, kill=n % 2 == 0)

    async def start(self, n: int) -> None:
        """Start an agent."""
        await self.call("start_run", agent_id=AGENTS[n % 2])

    async def leave(self, n: int) -> None:
        """Leave a failed run alone."""
        for run in await self.some(n, alive=False):
            await self.call("leave_run", run_id=run.id)

    async def undone(self, n: int) -> None:
        """Note that a run was taken back."""
        for run in await self.some(n, alive=False):
            await self.runs.write(partial(self.runs.note_undone, run_id=run.id, by="alice"))

    async def answer(self, n: int) -> None:
        """Answer on the command line."""
        for one in await self.service(DECISIONS).pending(self.team.store, "p"):
            await self.service(DECISIONS).answer(one.id, approved=n % 2 == 0, by="alice")

    async def pause(self, n: int) -> None:
        """Pause the project, or go on."""
        await self.service(PAUSES).set_paused("p", paused=n % 2 == 0, by="alice")

    async def sweep(self, _: int) -> None:
        """Forget everything that has ended."""
        await self.team._run("update runs set ended_at = '2001' where ended_at is not null")
        await self.aipm.sweep()

    async def look(self, _: int) -> None:
        """Catch up in the middle."""
        await check_fold_law(self.aipm, [self.alice])

    async def check(self) -> None:
        """Hold the law, the inbox and the strangers against what is stored."""
        await check_fold_law(self.aipm, [self.alice, self.mallory])
        asked = {one.id for one in await self.service(DECISIONS).pending(self.team.store, "p")}
        assert set(self.alice.views["inbox"]) == asked
        assert self.mallory.views["runs"] == {}


DEEDS: dict[str, Callable[[RunWorld, int], Awaitable[None]]] = {
    name: getattr(RunWorld, name)
    for name in (
        *("task", "program", "claim", "enter", "end", "log", "stop", "start", "leave", "undone"),
        *("answer", "pause", "sweep", "look", "use", "block"),
    )
}
DEED = st.tuples(st.sampled_from(sorted(DEEDS)), st.integers(min_value=0, max_value=30))


@asynccontextmanager
async def run_world(root: Path) -> AsyncGenerator[RunWorld]:
    plugins = (Sessions, Tasks, Views, PeopleApi, Runner)
    async with running(*plugins, data_dir=root / "data", locale="en") as aipm:
        team = Team(aipm, root)
        for project in ("p", "q"):
            await team.add_project(project)
        await team.add(*AGENTS)
        await team.add("alice", kind="human")
        await team.add("mallory", kind="human", project="q")
        await team._run("update agents set role = 'manager' where id = 'alice'")
        made = RunWorld(aipm, team)
        for n in (1, 2):
            await made.program(n)
        yield made


async def live(deeds: Sequence[tuple[str, int]]) -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="aipm-") as root:
        async with run_world(Path(root)) as made:
            await made.check()
            for name, n in deeds:
                with suppress(CallError):
                    await DEEDS[name](made, n)
            await made.check()
            return dict(made.alice.views)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(deeds=st.lists(DEED, min_size=3, max_size=25))
def test_the_law_holds_whatever_happens_to_runs(deeds: list[tuple[str, int]]) -> None:
    asyncio.run(live(deeds))


@pytest.mark.parametrize("deed", sorted(DEEDS))
def test_the_law_holds_for_each_deed(deed: str) -> None:
    before = [("task", 0), ("task", 1), ("claim", 1), ("end", 1), ("look", 0), ("start", 0)]
    asyncio.run(live([*before, ("claim", 1), *((deed, n) for n in (0, 1, 2, 3, 7))]))


def test_what_a_run_shows() -> None:
    views = asyncio.run(live([("task", 0), ("claim", 0), ("enter", 2)]))
    (run,) = views["runs"].values()
    assert run.keys() >= FIELDS
    assert not run.keys() & {"owner", "beat", "repository"}
    assert (run["agent_id"], run["state"], run["evidence"]) == ("worker-1", "running", "stream")
    member = views["members"]["worker-1"]
    assert (member["program"], member["model"]) == ("script", "m2")
    (need,) = member["needs"]
    assert (need["state"], need["run_id"]) == ("running", run["id"])
    assert views["members"]["worker-2"]["needs"] == []
    assert "program" in views["members"]["alice"]


@pytest.mark.parametrize(
    ("deeds", "state"),
    [
        ([("task", 0)], "starts"),
        ([("task", 0), ("program", 0)], "no_program"),
        ([("task", 0), ("claim", 0), ("end", 1)], "held"),
        ([("task", 0), ("claim", 0), ("end", 2)], "asks"),
        ([("task", 0), ("claim", 0), ("end", 2), ("start", 0)], "starts"),
    ],
)
def test_why_an_agent_is_started_or_not(deeds: list[tuple[str, int]], state: str) -> None:
    views = asyncio.run(live(deeds))
    (need,) = views["members"]["worker-1"]["needs"]
    assert need["state"] == state
    assert (need["until"] is not None) == (state == "held")
    assert len(views["inbox"]) == (state == "asks")


def test_a_limit_says_why_nothing_is_started_and_until_when() -> None:
    views = asyncio.run(live([("task", 0), ("claim", 0), ("use", 1), ("end", 3)]))
    (need,) = views["members"]["worker-1"]["needs"]
    assert (need["state"], need["until"]) == ("quota", "2096-10-02T07:06:40.000Z")
    assert "script" in need["what"]


def test_what_a_task_waits_for_is_said_of_its_agent() -> None:
    views = asyncio.run(live([("task", 0), ("block", 0)]))
    (wait,) = views["members"]["worker-1"]["waits"]
    assert (wait["cause"], wait["of"]) == ("blocked", None)
    assert views["members"]["worker-1"]["needs"] == []


def test_a_paused_project_needs_nobody_and_says_that_it_is_paused() -> None:
    views = asyncio.run(live([("task", 0), ("pause", 0)]))
    assert views["members"]["worker-1"]["needs"] == []
    assert views["project"]["p"]["paused"] is True


def test_the_item_of_a_failed_run_says_what_to_do() -> None:
    failed = [("task", 0), ("claim", 0), ("end", 2)]
    views = asyncio.run(live(failed))
    (item,) = views["inbox"].values()
    assert (item["kind"], item["title"]) == ("run", "worker-1 is not started any more")
    assert (item["detail"], item["level"]) == ("because", "WARN")
    assert item["advice"].startswith("Install the program")
    assert [(one["name"], one["tool"]) for one in item["actions"]] == [
        ("leave", "leave_run"),
        ("start", "start_run"),
    ]
    left = asyncio.run(live([*failed, ("look", 0), ("leave", 0)]))
    assert left["inbox"] == {}


def test_only_the_newest_runs_are_shown_and_the_edge_moves(tmp_path: Path) -> None:
    async def act() -> None:
        async with run_world(tmp_path) as made:
            await made.check()
            await made.task(0)
            for n in range(SHOWN_ENDED + 3):
                await made.claim(0)
                await made.end(1)
                await made.start(0)
                await made.undone(n)
            await made.check()
            shown = made.alice.views["runs"]
            newest = [run.id for run in await made.runs.newest(SHOWN_ENDED, ["p"])]
            assert set(shown) == set(newest)

    asyncio.run(act())


async def refusal(made: RunWorld, tool: str, **given: Any) -> str:
    with pytest.raises(CallError) as refused:
        await made.call(tool, **given)
    return refused.value.code


def test_what_cannot_be_done_is_refused_in_a_word(tmp_path: Path) -> None:
    async def act() -> None:
        async with run_world(tmp_path) as made:
            start, tool = "start_run", made.call
            assert await refusal(made, start, agent_id="worker-1") == "nothing_to_start"
            assert await refusal(made, start, agent_id="nobody") == "agent_not_found"
            await made.task(0)
            await made.program(0)
            assert await refusal(made, start, agent_id="worker-1") == "no_program"
            await made.program(2)
            await made.claim(0)
            (run,) = await made.some(0, alive=True)
            assert (await tool(start, agent_id="worker-1"))["run_id"] == run.id
            assert await refusal(made, "leave_run", run_id=run.id) == "nothing_to_answer"
            assert await refusal(made, "undo_run", run_id=run.id) == "run_not_ended"
            for name in ("stop_run", "undo_run", "leave_run"):
                assert await refusal(made, name, run_id="run_none") == "run_not_found"
                foreign = {"project_id": "q", "run_id": run.id}
                assert await refusal(made, name, **foreign) == "project_not_found"
            for _ in range(2):
                assert (await tool("stop_run", run_id=run.id))["ended"] is False
            await made.end(4)
            assert (await tool("stop_run", run_id=run.id))["ended"] is True
            assert await refusal(made, "undo_run", run_id=run.id) == "undo_needs_worktree"
            await made.team.session("worker-1", "task")
            assert await refusal(made, start, agent_id="worker-1") == "already_attended"
            shown = await tool("show_programs", agent_id="worker-1")
            assert "script" in shown["programs"]
            assert shown["agent"]["program"] == "script"
            unknown = {"agent_id": "nobody"}
            assert await refusal(made, "show_programs", **unknown) == "agent_not_found"

    asyncio.run(act())
