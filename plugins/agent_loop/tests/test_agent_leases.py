"""Two servers on one store: a run that is alive stays where it is, one that is dead does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_agent_loop.leases import LEASE_SECONDS, Held, Leases
from aipm_agent_loop.plugin import AgentLoop
from aipm_agent_loop.testing import PersonSession, session, talking
from aipm_policy.plugin import Policy
from aipm_ui_gateway.testing import served

from aipm_core import (
    Access,
    AnyTool,
    Call,
    Json,
    NoArguments,
    Plugin,
    StoreUnavailable,
    Tx,
    hookimpl,
    tool,
)

HOUR = 3600.0


class Slow(Plugin):
    """A tool that takes as long as the test wants."""

    def __init__(self, ctx: Any) -> None:
        super().__init__(ctx)
        self.done = anyio.Event()

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.hold, access=Access.SESSION)

    async def hold(self, call: Call, args: NoArguments) -> Json:
        """Wait for the test."""
        await self.done.wait()
        return "held to the end"


@asynccontextmanager
async def held(root: Path) -> AsyncGenerator[PersonSession]:
    """Have a server work on a session until the block is left."""
    async with talking(root, Slow, data_dir=root / "data") as talk:
        await talk.say("!call hold {}")
        await talk.until("onAgentStateChange", state="executing_tool")
        yield talk
        slow = talk.stage.runtime.manager.get_plugin("slow")
        assert isinstance(slow, Slow)
        slow.done.set()
        events = await talk.turn()
    said = [e["payload"]["content"] for e in events if e["type"] == "onNewMessage"]
    assert said == ["held to the end"]
    assert [e for e in events if e["type"] == "onError"] == []


@pytest.mark.parametrize("ahead", [0.0, HOUR], ids=["same time", "an hour ahead"])
@pytest.mark.parametrize("near", [True, False], ids=["same machine", "another machine"])
async def test_another_server_leaves_a_live_run_alone(
    tmp_path: Path, ahead: float, near: bool
) -> None:
    data = tmp_path / "data"
    async with held(tmp_path) as talk:
        if not near:  # the lock of a holder elsewhere cannot be seen
            for path in data.glob("wrk_*.lock"):
                path.unlink()
        later = lambda: time.time() + ahead  # noqa: E731
        async with (
            served(Policy, AgentLoop, data_dir=data, clock=later) as stage,
            session(stage, talk.person) as other,
        ):
            # It takes its own work twice, each time from a list that has the live run in it.
            assert await other.ask("one") == "echo: one"
            assert await other.ask("two") == "echo: two"
            rows = await stage.runtime.store.all("select session_id, status from agent_runs")
        assert (talk.session, "running") in [(row["session_id"], row["status"]) for row in rows]


class Watching:
    """A server that sees another one's claim, by a clock of its own."""

    def __init__(self, talk: PersonSession) -> None:
        loop = talk.stage.runtime.manager.get_plugin("agent_loop")
        assert isinstance(loop, AgentLoop)
        self.now = 0.0
        self.store = talk.stage.runtime.store
        self.leases = Leases(loop.ctx, lambda: self.now)

    async def put(self, session_id: str, owner: str, beat: int) -> None:
        async def unit(tx: Tx) -> None:
            await tx.run(
                "insert into agent_threads (session_id, owner, beat) values (?, ?, ?) "
                "on conflict (session_id) do update set owner = excluded.owner, "
                "beat = excluded.beat",
                *(session_id, owner, beat),
            )
            await tx.run(
                "insert into agent_inputs (session_id, number, text, images, status, created_at) "
                "values (?, 1, 'x', '[]', 'queued', '') on conflict do nothing",
                session_id,
            )

        await self.store.write(unit)

    async def after(self, seconds: float) -> list[str]:
        """Look every few seconds, as a server does, and say what could be taken in the end."""
        end, found = self.now + seconds, list[Held]()
        while self.now < end:
            self.now = min(self.now + LEASE_SECONDS / 4, end)
            found = await self.leases.claimable()
        return [one.session_id for one in found]


async def test_a_holder_is_dead_when_it_was_silent_for_a_lease(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        watching = Watching(talk)
        await watching.put("far", "wrk_far", 7)
        assert await watching.after(LEASE_SECONDS) == []
        await watching.put("far", "wrk_far", 8)
        assert await watching.after(LEASE_SECONDS) == []
        assert await watching.after(LEASE_SECONDS / 2) == ["far"]


async def test_who_did_not_look_does_not_know(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        watching = Watching(talk)
        await watching.put("far", "wrk_far", 7)
        assert await watching.after(LEASE_SECONDS / 4) == []
        watching.now += HOUR  # it slept, and so may everybody else have done
        assert await watching.after(LEASE_SECONDS / 4) == []
        assert await watching.after(LEASE_SECONDS) == ["far"]


async def test_a_sign_of_life_comes_before_a_claim(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        watching = Watching(talk)
        await watching.put("far", "wrk_far", 7)
        assert await watching.after(2 * LEASE_SECONDS) == ["far"]
        (seen,) = await watching.leases.claimable()
        await watching.put("far", "wrk_far", 8)
        assert not await watching.store.write(lambda tx: watching.leases.claim(tx, seen))
        assert await watching.after(2 * LEASE_SECONDS) == ["far"]
        (seen,) = await watching.leases.claimable()
        assert await watching.store.write(lambda tx: watching.leases.claim(tx, seen))
        watching.leases.working.add("far")
        assert await watching.after(2 * LEASE_SECONDS) == []
        watching.leases.working.clear()  # its worker is gone, and could not even say so
        assert await watching.after(LEASE_SECONDS / 4) == ["far"]


async def test_only_what_is_worked_on_is_renewed(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        watching = Watching(talk)
        for name in ("worked_on", "left_behind"):
            await watching.put(name, watching.leases.owner, 7)
        watching.leases.working.add("worked_on")
        await watching.store.write(watching.leases.renew)
        rows = await watching.store.all(
            "select session_id, beat from agent_threads where owner = ?", watching.leases.owner
        )
        assert {row["session_id"]: row["beat"] for row in rows} == {
            "worked_on": 8,
            "left_behind": 7,
        }


async def test_an_outage_during_a_turn_leaves_no_session_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(unit: object) -> None:
        raise StoreUnavailable("on purpose")

    async with talking(tmp_path, Slow) as talk:
        await talk.say("!call hold {}")
        await talk.until("onAgentStateChange", state="executing_tool")
        manager = talk.stage.runtime.manager
        slow, loop = manager.get_plugin("slow"), manager.get_plugin("agent_loop")
        assert isinstance(slow, Slow)
        assert isinstance(loop, AgentLoop)
        (worker,) = loop._workers._tasks
        with monkeypatch.context() as outage:
            outage.setattr(talk.stage.runtime.engine, "write", down)
            slow.done.set()
            await asyncio.wait([worker])
        await talk.say("again")
        await talk.until("onNewMessage", content="echo: again")
