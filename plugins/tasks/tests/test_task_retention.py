"""Tasks stay; which call made one, and which session had it, is forgotten after a while."""

from collections.abc import Callable
from typing import Any

Teams = Callable[..., Any]
DAY = 86_400.0


async def test_keys_and_bindings_of_long_ago_go_and_tasks_stay(team: Teams) -> None:
    async with team() as t:
        await t.add("mine", "in_progress")
        session = await t.session()
        await t.result("create_task", session, title="a", idempotency_key="k")
        await t.close(session)
        held = "insert into task_sessions select 'held', id, '', '', '', null from tasks limit 1"
        await t.store.write(lambda tx: tx.run(held))
        kept = await t.rows("select * from tasks"), await t.rows("select * from task_history")
        for days, keys, sessions in ((29, 1, 2), (2, 0, 1), (1000, 0, 1)):
            t.watch.time += days * DAY
            await t.aipm.sweep()
            assert len(await t.rows("select * from task_keys")) == keys
            assert len(await t.rows("select * from task_sessions")) == sessions
        assert await t.rows("select session_id from task_sessions") == [{"session_id": "held"}]
        assert len(kept[0]) == 2
        assert kept == (
            await t.rows("select * from tasks"),
            await t.rows("select * from task_history"),
        )
