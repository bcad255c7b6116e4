"""Who may lift a block: the agent its own, people and those above everybody else's."""

from collections.abc import Callable
from typing import Any

import pytest

Teams = Callable[..., Any]
OUT = ("todo", "in_progress", "cancelled")


async def lift(t: Any, session: Any, task: str, status: str) -> str | None:
    code: str | None = await t.code("update_task_status", session, task_id=task, status=status)
    return code


@pytest.mark.parametrize("status", OUT)
async def test_an_agent_does_not_lift_a_persons_block(team: Teams, status: str) -> None:
    async with team() as t:
        task, session = await t.add("t", "in_progress"), await t.session()
        await t.move(task, "blocked", "wait for me")
        await t.result("get_notifications", session)
        reply = await t.call("update_task_status", session, task_id=task, status=status)
        assert reply.error is not None
        assert (reply.error.code, reply.error.status) == ("blocked_by_other", 403)
        assert "operator" in reply.error.message
        assert await t.status(task) == "blocked"
        assert (await t.result("report_completed", session, result="blocked"))["success"]
        assert await lift(t, await t.session(), task, status) == "blocked_by_other"


async def test_a_report_does_not_make_a_persons_block_ones_own(team: Teams) -> None:
    async with team() as t:
        task, session = await t.add("t", "in_progress"), await t.session()
        await t.move(task, "blocked")
        await t.result("report_completed", session, result="blocked")
        assert await lift(t, await t.session(), task, "in_progress") == "blocked_by_other"


@pytest.mark.parametrize("by_report", [True, False], ids=["reported", "moved"])
@pytest.mark.parametrize("status", OUT)
async def test_an_agent_lifts_its_own_block(team: Teams, status: str, by_report: bool) -> None:
    async with team() as t:
        task, session = await t.add("t", "in_progress"), await t.session()
        if by_report:
            await t.result("report_completed", session, result="blocked")
            session = await t.session()
        else:
            await t.result("update_task_status", session, task_id=task, status="blocked")
        assert await lift(t, session, task, status) is None


@pytest.mark.parametrize("status", OUT)
async def test_people_and_those_above_lift_what_others_blocked(team: Teams, status: str) -> None:
    async with team() as t:
        lead, boss = await t.session("lead"), await t.session("boss")
        blocked = [await t.add("t", "in_progress") for _ in range(3)]
        for task in blocked:
            await t.result("update_task_status", lead, task_id=task, status="blocked")
        await t.result("get_notifications", await t.session())
        assert await lift(t, await t.session(), blocked[0], status) == "blocked_by_other"
        assert await lift(t, lead, blocked[0], status) is None
        assert await lift(t, boss, blocked[1], status) is None
        await t.move(blocked[2], status)
        held = await t.add("t", "in_progress")
        await t.move(held, "blocked")
        assert await lift(t, lead, held, status) == "blocked_by_other"
        assert await lift(t, boss, held, status) is None


async def test_a_new_block_counts_and_not_an_old_one(team: Teams) -> None:
    async with team() as t:
        task, session = await t.add("t", "in_progress"), await t.session()
        await t.move(task, "blocked")
        await t.move(task, "in_progress")
        await t.result("get_notifications", session)
        await t.result("update_task_status", session, task_id=task, status="blocked")
        assert await lift(t, session, task, "in_progress") is None
        born = await t.add("born so", "blocked")
        assert await lift(t, session, born, "todo") == "blocked_by_other"


async def test_what_was_blocked_with_its_parent_is_free_when_the_parent_is(team: Teams) -> None:
    async with team() as t:
        root = await t.add("root", "in_progress", assignee_id="lead")
        child = await t.add("child", "in_progress", parent_task_id=root)
        session = await t.session()
        await t.move(root, "blocked")
        await t.result("get_notifications", session)
        assert await lift(t, session, child, "todo") == "blocked_by_other"
        await t.move(root, "in_progress")
        assert await lift(t, session, child, "in_progress") is None


async def test_whoever_has_the_task_above_lifts_what_its_agent_reported(team: Teams) -> None:
    async with team() as t:
        root = await t.add("root", "in_progress")
        child = await t.add("child", "in_progress", parent_task_id=root, assignee_id="peer")
        await t.result("report_completed", await t.session("peer"), result="blocked")
        assert await lift(t, await t.session(), child, "todo") is None
