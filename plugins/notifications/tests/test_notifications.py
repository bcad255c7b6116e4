"""What an agent sees of its inbox on every call, and who sees whose."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.testing import CHAT, TASK
from aipm_notifications.api import INBOX
from tests.inbox_runtime import (
    NONE,
    OTHERS,
    REPLACED,
    UNREAD,
    inbox_runtime,
    interrupt_during,
    notice,
)

from aipm_core import CallError, Reply, Tx
from aipm_core.texts import Texts


async def test_every_reply_of_a_session_carries_the_field() -> None:
    async with inbox_runtime() as d:
        assert notice(await d.call("echo", TASK)) == NONE
        assert notice(await d.call("echo", TASK, fail=True)) == NONE
        assert notice(await d.call("echo", TASK, wrong=1)) == NONE
        assert notice(await d.call("nothing", TASK)) == NONE
        assert "notification" not in (await d.call("echo", None)).envelope()
        assert "notification" not in (await d.aipm.call_with_token("echo", "bad")).envelope()


async def test_an_ordinary_notification_is_announced_until_it_is_read() -> None:
    async with inbox_runtime() as d:
        left = await d.put("message", message="見てください")
        reply = await d.call("echo", TASK, text="x")
        assert reply.result == {"text": "x"}
        assert notice(reply) == UNREAD
        assert notice(await d.call("echo", TASK, fail=True)) == UNREAD
        reply = await d.call("get_notifications", TASK)
        assert notice(reply) == NONE
        (item,) = reply.result["notifications"]
        assert item["id"] == left
        assert (item["type"], item["action"], item["message"]) == ("message", None, "見てください")
        assert "get_next_action()" in item["instruction"]
        assert "task_id" not in item
        assert reply.result["withheld_results"] == []
        assert await d.ids() == []
        assert notice(await d.call("echo", TASK)) == NONE


async def test_no_tool_runs_while_an_interrupt_is_unread() -> None:
    async with inbox_runtime() as d:
        await d.put(action="blocked", task_id="tsk_1")
        for _ in range(2):
            assert await d.call("echo", TASK, text="x") == Reply(replaced=REPLACED)
        assert await d.call("nothing", TASK) == Reply(replaced=REPLACED)
        assert await d.call("echo", TASK, wrong=1) == Reply(replaced=REPLACED)
        found = await d.read()
        assert found["notifications"][0]["task_id"] == "tsk_1"
        assert 'report_completed(result="blocked")' in found["notifications"][0]["instruction"]
        assert found["withheld_results"] == []
        reply = await d.call("echo", TASK, text="y")
        assert (reply.result, notice(reply)) == ({"text": "y"}, NONE)


@pytest.mark.parametrize("tool", ["logout", "report_completed"])
async def test_exempt_tools_run_and_say_that_something_is_unread(tool: str) -> None:
    async with inbox_runtime() as d:
        await d.put(action="cancel")
        reply = await d.call(tool, TASK)
        assert (reply.result, notice(reply)) == ({"success": True}, UNREAD)


async def test_reading_without_marking_changes_nothing() -> None:
    async with inbox_runtime() as d:
        left = await d.put(action="pause")
        for _ in range(2):
            reply = await d.call("get_notifications", TASK, mark_as_read=False)
            assert [n["id"] for n in reply.result["notifications"]] == [left]
            assert notice(reply) == UNREAD
        assert (await d.call("echo", TASK)).replaced == REPLACED
        assert await d.ids() == [left]
        assert await d.ids() == []


async def test_newest_first_and_in_pages() -> None:
    async with inbox_runtime() as d:
        left = [await d.put("message", message=str(n)) for n in range(60)]
        first = await d.read()
        assert [n["id"] for n in first["notifications"]] == left[:9:-1]
        assert first["has_more"] is True
        second = await d.read()
        assert [n["id"] for n in second["notifications"]] == left[9::-1]
        assert "has_more" not in second


@pytest.mark.parametrize("other", OTHERS, ids=["agent", "project", "purpose"])
async def test_others_are_not_touched(other: Any) -> None:
    async with inbox_runtime() as d:
        left = await d.put(action="cancel", audience="task")
        assert notice(await d.call("echo", other)) == NONE
        assert await d.ids(other) == []
        assert await d.ids(TASK) == [left]


async def test_without_audience_whoever_asks_first_gets_it() -> None:
    async with inbox_runtime() as d:
        left = await d.put("message")
        assert notice(await d.call("echo", CHAT)) == notice(await d.call("echo", TASK)) == UNREAD
        assert await d.ids(CHAT) == [left]
        assert notice(await d.call("echo", TASK)) == NONE


async def test_a_refused_unit_leaves_no_notification() -> None:
    async with inbox_runtime() as d:
        inbox = d.aipm.runtime.services.use(INBOX)

        async def unit(tx: Tx) -> None:
            await inbox.put(tx, agent_id="agent-a", project_id="p", type="interrupt", message="m")
            raise CallError("no", code="no", status=400)

        with pytest.raises(CallError):
            await d.aipm.runtime.store.write(unit)
        assert notice(await d.call("echo", TASK)) == NONE


async def test_expiry_and_sweeping() -> None:
    now = [1_700_000_000.0]
    async with inbox_runtime(clock=lambda: now[0], ttl_hours=1, keep_days=2) as d:
        sweeper = d.aipm
        await d.put(action="cancel", audience="task")
        read = await d.put("message", audience="chat")
        assert await d.ids(CHAT) == [read]
        now[0] += 3599
        assert (await d.call("echo", TASK)).replaced == REPLACED
        assert await sweeper.sweep() == 0
        now[0] += 1
        assert notice(await d.call("echo", TASK)) == NONE
        assert await d.ids() == []
        assert await sweeper.sweep() == 1
        now[0] += 2 * 86_400
        assert await sweeper.sweep() == 1
        row = await d.aipm.runtime.store.one("select count(*) as n from notifications")
        assert row is not None
        assert row["n"] == 0


async def test_pause_holds_until_resume() -> None:
    async with inbox_runtime() as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        assert await inbox.paused_since(store, TASK) is None
        await d.put(action="pause", audience="task")
        assert await inbox.paused_since(store, TASK) is not None
        assert await inbox.paused_since(store, CHAT) is None
        await d.read()
        assert await inbox.paused_since(store, TASK) is not None
        await d.put("message", action="resume", audience="task")
        assert await inbox.paused_since(store, TASK) is None


async def test_a_pause_outlives_its_notification() -> None:
    now = [1_700_000_000.0]
    async with inbox_runtime(clock=lambda: now[0], ttl_hours=1, keep_days=2) as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        await d.put(action="pause", audience="task")
        since = await inbox.paused_since(store, TASK)
        assert since is not None
        await d.read()
        now[0] += 30 * 86_400
        assert await d.aipm.sweep() == 1
        assert await inbox.paused_since(store, TASK) == since
        await d.put("message", action="resume")
        assert await inbox.paused_since(store, TASK) is None
        now[0] += 30 * 86_400
        assert await d.aipm.sweep() == 1
        assert await inbox.paused_since(store, TASK) is None


async def test_a_pause_nobody_has_read_holds_too() -> None:
    now = [1_700_000_000.0]
    async with inbox_runtime(clock=lambda: now[0], ttl_hours=1) as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        await d.put(action="pause")
        now[0] += 7200
        assert await d.ids() == []
        assert await inbox.paused_since(store, TASK) is not None


async def test_a_pause_from_before_the_state_had_a_table_holds(tmp_path: Path) -> None:
    async with inbox_runtime(data_dir=tmp_path) as d:
        await d.put(action="pause", audience="task")
        await d.put("message", action="resume", audience="task")
        await d.put(action="pause", audience="task")
        await d.put("message", action="resume", audience="chat")
    with sqlite3.connect(tmp_path / "aipm.db") as db:
        db.executescript(
            "drop table notification_pauses; "
            "create index notifications_pauses on notifications (agent_id, project_id, seq); "
            "delete from _sqlite_migrations where name = '0004_pauses'"
        )
    async with inbox_runtime(data_dir=tmp_path) as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        assert await inbox.paused_since(store, TASK) is not None
        assert await inbox.paused_since(store, CHAT) is None


async def test_a_withheld_result_is_kept_for_its_time() -> None:
    now = [1_700_000_000.0]
    async with inbox_runtime(clock=lambda: now[0], keep_days=2) as d:
        for left in (1, 0):
            await interrupt_during(d)
            now[0] += (2 - left) * 86_400
            await d.aipm.sweep("withheld_results")
            found = await d.read()
            assert len(found["withheld_results"]) == left


async def test_a_resume_for_one_kind_of_session_leaves_the_other_paused() -> None:
    async with inbox_runtime() as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        await d.put(action="pause")
        await d.put("message", action="resume", audience="task")
        assert await inbox.paused_since(store, TASK) is None
        assert await inbox.paused_since(store, CHAT) is not None
        await d.put(action="pause", audience="task")
        assert await inbox.paused_since(store, TASK) is not None
        await d.put("message", action="resume")
        assert await inbox.paused_since(store, TASK) is None
        assert await inbox.paused_since(store, CHAT) is None


async def test_newest_counts_what_is_visible_and_unread() -> None:
    async with inbox_runtime() as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        assert await inbox.newest(store, TASK) == 0
        await d.put("message")
        first = await inbox.newest(store, TASK)
        assert first > 0
        await d.put("new_message", audience="chat")
        assert await inbox.newest(store, TASK) == first
        assert await inbox.newest(store, CHAT) > first
        assert await inbox.unread(store, "agent-a", "p") == 2


async def test_settling_a_task_reads_its_interrupts_and_no_other() -> None:
    async with inbox_runtime() as d:
        inbox, store = d.aipm.runtime.services.use(INBOX), d.aipm.runtime.store
        await d.put(action="blocked", task_id="tsk_1")
        other = await d.put(action="blocked", task_id="tsk_2")
        plain = await d.put("message", task_id="tsk_1")
        where = {"agent_id": "agent-a", "project_id": "p", "task_id": "tsk_1"}
        await store.write(lambda tx: inbox.settle(tx, **where))
        assert await d.ids() == [plain, other]


async def test_both_languages_say_the_same_things() -> None:
    package = "aipm_notifications"
    assert Texts.load(package, "ja").keys() == Texts.load(package, "en").keys()
    async with inbox_runtime(locale="en") as d:
        assert notice(await d.call("echo", TASK)) == "No notifications."


@pytest.mark.parametrize("purpose", ["task", "chat"])
@pytest.mark.parametrize("action", ["cancel", "pause", "blocked", "resume"])
@pytest.mark.parametrize("locale", ["ja", "en"])
async def test_each_instruction_names_the_next_call(locale: Any, action: str, purpose: str) -> None:
    stop = purpose == "task" and action in {"cancel", "blocked"}
    session = TASK if purpose == "task" else CHAT
    async with inbox_runtime(locale=locale) as d:
        await d.put("message" if action == "resume" else "interrupt", action=action)
        (item,) = (await d.read(session))["notifications"]
        expected = 'report_completed(result="blocked")' if stop else "get_next_action("
        assert expected in item["instruction"]


async def test_the_checks_use_their_indexes() -> None:
    from aipm_notifications import inbox as module
    from aipm_notifications import pauses

    async with inbox_runtime() as d:
        for sql in (
            module._ANYTHING,
            module._INTERRUPTED,
            module._UNREAD,
            module._NEWEST,
            pauses._PAUSE,
        ):
            rows = await d.aipm.runtime.store.all(
                "explain query plan " + sql, *[""] * sql.count("?")
            )
            plan = [row["detail"] for row in rows if "notification" in row["detail"]]
            assert plan
            assert all(line.startswith("SEARCH") for line in plan), plan
