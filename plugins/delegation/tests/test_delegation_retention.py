"""Delegations are forgotten a while after their end, never before."""

from pathlib import Path

from tests.test_delegation import ManualClock, agents, delegate, status, taken


async def test_only_what_is_over_is_forgotten(tmp_path: Path) -> None:
    watch = ManualClock()
    async with agents(tmp_path, watch, keep_days=10, lease_seconds=1e9) as (made, task, chat):
        done = await delegate(task)
        held = await delegate(task, "held")
        assert {one["delegation_id"] for one in await taken(chat)} == {done, held}
        await chat.does("report_delegation_completed", delegation_id=done, result="りんご")
        await delegate(task, "waiting")
        for days, left in ((9, 3), (2, 2), (1000, 2)):
            watch.time += days * 86_400
            await made.aipm.sweep()
            assert len(await status(made)) == left
        assert {one for one, _ in await status(made)} == {"processing", "pending"}
