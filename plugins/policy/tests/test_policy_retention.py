"""How long the audit trail, questions and permissions are kept, whatever the clock does."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.testing import TASK, TestRuntime, running
from aipm_policy.plugin import AUDIT, Policy
from aipm_sessions.plugin import Sessions

from aipm_core import Access, AnyTool, Call, Json, NoArguments, Plugin, Tx, hookimpl, tool

DAY = 86_400.0
TODAY = 1_790_000_000.0
RULES: dict[str, Any] = {"rules": [{"tool": "knock", "decision": "DENY"}], "audit_days": 10}


class Door(Plugin):
    """A tool to decide about."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.knock, access=Access.SESSION)

    async def knock(self, call: Call, args: NoArguments) -> Json:
        """Knock."""
        return {}


class Watch:
    def __init__(self) -> None:
        self.now = TODAY

    @asynccontextmanager
    async def house(self, data_dir: Path) -> AsyncGenerator[TestRuntime]:
        async with running(
            Sessions, Policy, Door, data_dir=data_dir, policy=RULES, clock=lambda: self.now
        ) as aipm:
            yield aipm

    async def knock(self, aipm: TestRuntime, *moments: float) -> None:
        """Leave an audit entry at each of these times."""
        now = self.now
        for self.now in moments:
            await aipm.call("knock", TASK)
        self.now = now


async def kept(aipm: TestRuntime) -> list[int]:
    return [row["seq"] for row in await aipm.runtime.store.all("select seq from policy_audit")]


async def ask(aipm: TestRuntime, name: str, status: str, expires_at: float) -> None:
    async def unit(tx: Tx) -> None:
        await tx.run(
            "insert into confirmations (id, session_id, project_id, agent_id, tool, args, "
            "args_digest, level, message, status, created_at, expires_at) "
            "values (?, 's-task', 'p', 'agent-a', 'knock', '{}', '', 'INFO', '', ?, '', ?)",
            *(name, status, expires_at),
        )

    await aipm.runtime.store.write(unit)


async def test_one_entry_under_a_wrong_clock_takes_nothing_with_it(tmp_path: Path) -> None:
    watch = Watch()
    async with watch.house(tmp_path) as aipm:
        await watch.knock(aipm, TODAY - 2 * DAY, TODAY - DAY, 40_000_000.0, TODAY)
        await ask(aipm, "cnf_old", "pending", TODAY - 60)
    async with watch.house(tmp_path) as aipm:

        async def expired() -> bool | None:
            row = await aipm.runtime.store.one("select status from confirmations")
            return (row is not None and row["status"] == "expired") or None

        assert await aipm.runtime.store.wait_until(("confirmations",), expired, 10)
        await aipm.sweep()
        assert await kept(aipm) == [1, 2, 3, 4]
        watch.now += 9.5 * DAY
        await aipm.sweep()
        assert await kept(aipm) == [4]
        watch.now += DAY
        await aipm.sweep()
        assert await kept(aipm) == []


async def test_an_entry_from_the_future_keeps_the_others_no_longer(tmp_path: Path) -> None:
    watch = Watch()
    async with watch.house(tmp_path) as aipm:
        await watch.knock(aipm, TODAY + 3650 * DAY, TODAY, TODAY + 3650 * DAY, TODAY)
        watch.now += 9 * DAY
        await aipm.sweep()
        assert await kept(aipm) == [1, 2, 3, 4]
        watch.now += 2 * DAY
        await aipm.sweep()
        assert await kept(aipm) == []


async def test_a_clock_that_jumps_by_years_deletes_no_decision(tmp_path: Path) -> None:
    watch = Watch()
    async with watch.house(tmp_path) as aipm:
        await aipm.sweep()
        await watch.knock(aipm, TODAY)
    watch.now += 3650 * DAY
    async with watch.house(tmp_path) as aipm:
        await watch.knock(aipm, watch.now)
        await aipm.sweep()
        assert await kept(aipm) == [1, 2]


async def test_verification_knows_what_was_deleted(tmp_path: Path) -> None:
    watch = Watch()
    async with watch.house(tmp_path) as aipm:
        audit = aipm.runtime.services.use(AUDIT)
        heads = []
        for days in (20, 15, 5):
            await watch.knock(aipm, TODAY - days * DAY)
            heads.append((await audit.verify()).head)
        assert (await audit.verify()).pruned == 0
        await aipm.sweep()
        report = await audit.verify()
        assert (report.ok, report.entries, report.pruned) == (True, 1, 2)
        assert report.head == heads[-1]
        assert [(await audit.verify(head)).ok for head in heads] == [False, True, True]
        old = await audit.verify(heads[0])
        assert old.outdated
        assert "entries up to 2 were deleted because of their age" in str(old.problem)
        assert not (await audit.verify(f"3:{heads[0]}")).outdated


CUTS = {
    "the head moved": (
        "update policy_audit_head set (first_seq, first_hash) = "
        "(select seq, hash from policy_audit where seq = 3); "
        "delete from policy_audit where seq <= 3"
    ),
    "the head and the note moved": (
        "update policy_audit_head set (first_seq, first_hash) = "
        "(select seq, hash from policy_audit where seq = 3); "
        "update policy_audit_cut set (seq, hash) = "
        "(select seq, hash from policy_audit where seq = 3); "
        "delete from policy_audit where seq <= 3"
    ),
    "the note removed": "delete from policy_audit_cut",
    "the note without its digest": "update policy_audit_cut set link = ''",
}


@pytest.mark.parametrize("cut", CUTS.values(), ids=[*CUTS])
async def test_a_cut_that_the_sweeper_did_not_make_is_found(tmp_path: Path, cut: str) -> None:
    watch = Watch()
    async with watch.house(tmp_path) as aipm:
        await watch.knock(aipm, TODAY - 20 * DAY, TODAY - 15 * DAY, TODAY - DAY, TODAY)
        await aipm.sweep()
        audit = aipm.runtime.services.use(AUDIT)
        assert (await audit.verify()).ok

        async def tamper(tx: Tx) -> None:
            for statement in cut.split("; "):
                await tx.run(statement)

        await aipm.runtime.store.write(tamper)
        report = await audit.verify()
    assert not report.ok
    assert "was not deleted by this program" in str(report.problem)


async def test_a_cut_from_before_cuts_were_noted_is_no_problem(tmp_path: Path) -> None:
    watch = Watch()
    async with watch.house(tmp_path) as aipm:
        await watch.knock(aipm, TODAY - 20 * DAY, TODAY)
        await aipm.sweep()
    with sqlite3.connect(tmp_path / "aipm.db") as db:
        db.executescript(
            "drop table policy_audit_cut; "
            "delete from _sqlite_migrations where name = '0003_audit_cut'"
        )
    async with watch.house(tmp_path) as aipm:
        report = await aipm.runtime.services.use(AUDIT).verify()
        assert (report.ok, report.pruned) == (True, 1)


async def test_questions_go_when_nobody_can_use_them_any_more(tmp_path: Path) -> None:
    watch = Watch()
    async with watch.house(tmp_path) as aipm:
        month = 30 * DAY
        for status in ("approved", "denied", "expired", "cancelled"):
            await ask(aipm, f"old {status}", status, TODAY - month - 1)
            await ask(aipm, f"young {status}", status, TODAY - month + 1)
        await ask(aipm, "approved and not used yet", "approved", TODAY + 1)
        await ask(aipm, "not answered", "pending", TODAY - month - 1)
        await aipm.sweep("confirmations")
        rows = await aipm.runtime.store.all("select id from confirmations")
        assert {row["id"] for row in rows} == {
            *("young approved", "young denied", "young expired", "young cancelled"),
            *("approved and not used yet", "not answered"),
        }


async def test_permissions_go_when_they_have_run_out(tmp_path: Path) -> None:
    watch = Watch()
    async with watch.house(tmp_path) as aipm:

        async def give(tx: Tx) -> None:
            for name, days in (("long over", -31), ("just over", -1), ("in force", 1)):
                await tx.run(
                    "insert into policy_grants (id, tool, project_id, agent_id, granted_by, "
                    "created_at, expires_at) values (?, 'knock', 'p', 'agent-a', 'x', '', ?)",
                    *(name, TODAY + days * DAY),
                )

        await aipm.runtime.store.write(give)
        await aipm.sweep("policy_grants")
        rows = await aipm.runtime.store.all("select id from policy_grants")
        assert {row["id"] for row in rows} == {"just over", "in force"}
