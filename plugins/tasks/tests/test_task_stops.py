"""Whom a blocked or cancelled task stops, and whom not."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from aipm_notifications.api import INBOX
from aipm_sessions.api import SESSIONS

Teams = Callable[..., Any]


async def interrupts(t: Any) -> list[tuple[str, str, str]]:
    rows = await t.rows("select * from notifications where type = 'interrupt' order by seq")
    assert all(row["audience"] == "task" for row in rows)
    return [(row["agent_id"], row["action"], row["task_id"]) for row in rows]


@pytest.mark.parametrize(("status", "action"), [("blocked", "blocked"), ("cancelled", "cancel")])
async def test_a_stop_reaches_descendants_and_their_agents(
    team: Teams, status: str, action: str
) -> None:
    async with team() as t:
        root = await t.add("root", "in_progress", assignee_id="lead")
        middle = await t.add("middle", "in_progress", parent_task_id=root)
        leaf = await t.add("leaf", "in_progress", parent_task_id=middle, assignee_id="peer")
        done = await t.add("done", "done", parent_task_id=root, assignee_id="peer")
        todo = await t.add("todo", "todo", parent_task_id=root, assignee_id="peer")
        other = await t.add("other", "in_progress", assignee_id="peer")
        await t.move(root, status)
        assert [await t.status(one) for one in (root, middle, leaf)] == [status] * 3
        assert [await t.status(one) for one in (done, other)] == ["done", "in_progress"]
        assert await t.status(todo) == ("todo" if status == "blocked" else "cancelled")
        assert await interrupts(t) == [
            ("lead", action, root),
            ("worker", action, middle),
            ("peer", action, leaf),
        ]


async def test_below_a_blocked_task_nothing_starts(team: Teams) -> None:
    async with team() as t:
        root = await t.add("root", "in_progress")
        middle = await t.add("middle", "todo", parent_task_id=root)
        leaf = await t.add("leaf", "todo", parent_task_id=middle)
        await t.move(root, "blocked")
        session = await t.session()
        await t.result("get_notifications", session)
        for task in (middle, leaf):
            move = {"task_id": task, "status": "in_progress"}
            assert await t.code("update_task_status", session, **move) == "parent_not_open"


async def test_one_agent_working_through_its_subtasks_is_stopped_once(team: Teams) -> None:
    async with team() as t:
        root = await t.add("root", "in_progress")
        await t.add("own", "in_progress", parent_task_id=root)
        await t.move(root, "blocked")
        assert await interrupts(t) == [("worker", "blocked", root)]


async def test_stopping_a_subtask_does_not_end_the_whole_task(team: Teams) -> None:
    async with team() as t:
        root = await t.add("root", "in_progress")
        own = await t.add("own", "in_progress", parent_task_id=root)
        session = await t.session()
        await t.move(own, "blocked")
        (item,) = (await t.result("get_notifications", session))["notifications"]
        assert "report_completed" not in item["instruction"]
        assert "get_next_action()" in item["instruction"]
        assert (await t.next(session))["action"] == "resolve_blocked_subtasks"
        assert await t.status(root) == "in_progress"


async def test_an_agent_does_not_interrupt_itself(team: Teams) -> None:
    async with team() as t:
        root = await t.add("root", "in_progress")
        await t.add("child", "in_progress", parent_task_id=root, assignee_id="peer")
        session = await t.session()
        await t.result("update_task_status", session, task_id=root, status="blocked")
        assert [agent for agent, _, _ in await interrupts(t)] == ["peer"]
        assert (await t.next(session))["action"] == "report_completed"


async def test_what_is_not_running_is_no_reason_to_interrupt(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "todo")
        await t.move(task, "cancelled")
        assert await interrupts(t) == []
        session = await t.session()
        (item,) = (await t.result("get_notifications", session))["notifications"]
        assert (item["type"], item["action"]) == ("message", "cancel")


async def test_the_chat_session_is_not_disturbed(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        chat, worker = await t.session(purpose="chat"), await t.session()
        peer = await t.session("peer")
        await t.move(task, "blocked")
        for other in (chat, peer):
            reply = await t.call("get_my_task", other)
            assert reply.envelope()["notification"] == "通知はありません"
            assert (await t.result("get_notifications", other))["notifications"] == []
        assert (await t.call("get_my_task", worker)).replaced is not None


async def test_a_report_settles_the_interrupts_of_its_task(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        await t.add("next", "in_progress")
        session = await t.session()
        await t.move(task, "blocked")
        await t.result("report_completed", session, result="blocked")
        assert (await t.next(await t.session()))["task"]["title"] == "next"


@pytest.mark.parametrize("status", ["blocked", "cancelled"])
async def test_success_cannot_overrule_a_stop(team: Teams, status: str) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        session = await t.session()
        await t.move(task, status)
        assert await t.code("report_completed", session, result="success") == "invalid_transition"
        await t.result("get_notifications", session)
        step = await t.next(session)
        assert (step["action"], step["result"]) == ("report_completed", "blocked")
        assert (await t.result("report_completed", session, result="failed"))["status"] == status


async def test_without_notifications_tasks_still_move(team: Teams) -> None:
    async with team(inbox=False) as t:
        task = await t.add("t", "in_progress")
        session, chat = await t.session(), await t.session(purpose="chat")
        await t.move(task, "blocked")
        assert (await t.next(session))["action"] == "report_completed"
        assert "notification" not in (await t.call("get_my_task", session)).envelope()
        reply = await t.call("notify_task_session", chat, message="x")
        assert reply.error is not None
        assert (reply.error.code, reply.error.status) == ("notifications_off", 404)


async def test_user_interfaces_hear_of_changes(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        session, chat = await t.session(), await t.session(purpose="chat")
        peer = await t.session("peer")
        for followed in (session, chat):
            follow = partial(t.services.use(SESSIONS).follow, session_id=followed.id)
            await t.store.write(follow)
        await t.move(task, "blocked")
        streams = await t.rows("select stream, type, payload from events order by id")
        assert {(row["stream"], row["type"]) for row in streams} == {
            (session.id, "onTaskChange"),
            (chat.id, "onTaskChange"),
            (session.id, "onNotification"),
        }
        assert peer.id not in {row["stream"] for row in streams}
        assert '"previousStatus":"in_progress"' in streams[-1]["payload"]


async def test_a_session_that_is_over_is_not_sent_to_read_what_it_cannot_read(team: Teams) -> None:
    async with team() as t:
        await t.add("t", "in_progress")
        session = await t.session()
        stop = {"project_id": "p", "type": "interrupt", "action": "cancel", "message": "m"}
        await t.store.write(lambda tx: t.services.use(INBOX).put(tx, agent_id="worker", **stop))
        await t.result("report_completed", session, result="success")
        over = replace(session, over=True)  # as its token is recognised from now on
        for tool in ("get_my_task", "get_notifications", "report_completed"):
            reply = await t.call(tool, over)
            assert list(reply.envelope()) == ["error"], tool
            assert reply.envelope()["error"]["code"] == "session_invalid", tool
        assert (await t.call("get_my_task", await t.session())).replaced is not None


async def test_who_reports_with_something_unread_is_told_one_thing(team: Teams) -> None:
    async with team() as t:
        await t.add("t", "in_progress")
        session, inbox = await t.session(), t.services.use(INBOX)
        for kind, action in (("interrupt", "cancel"), ("message", None)):
            about = {"project_id": "p", "type": kind, "action": action, "message": "m"}
            await t.store.write(partial(inbox.put, agent_id="worker", **about))
        reply = (await t.call("report_completed", session, result="success")).envelope()
        assert "終了" in reply["result"]["instruction"]
        assert reply["notification"] == "通知はありません"  # it could not read them any more
        refused = await t.session()
        assert (
            (await t.call("report_completed", refused, result="success"))
            .envelope()["notification"]
            .startswith("【重要】")
        )


async def test_who_works_on_something_else_is_not_stopped(team: Teams) -> None:
    async with team() as t:
        first = await t.add("first", "in_progress")
        dead = await t.session()
        await t.close(dead, "expired")
        silent = await t.session()
        assert await t.bound(silent) == first
        await t.add("second", "in_progress")
        other = await t.session()
        await t.move(first, "blocked")
        assert (await t.call("get_my_task", other)).replaced is None
        assert (await t.result("get_notifications", other))["notifications"] == []
        assert (await t.call("get_my_task", silent)).replaced is not None
        await t.close(silent, "expired")
        for late in (other, await t.session()):
            assert (await t.call("get_my_task", late)).replaced is None


async def test_a_stop_for_the_dead_is_told_and_stops_nobody(team: Teams) -> None:
    async with team() as t:
        task = await t.add("first", "in_progress")
        await t.close(await t.session(), "expired")
        await t.move(task, "blocked")
        late = await t.session()
        reply = await t.call("get_my_task", late)
        assert (reply.replaced, reply.error) == (None, None)
        (item,) = (await t.result("get_notifications", late))["notifications"]
        assert (item["type"], item["action"]) == ("message", "blocked")
        assert "report_completed" not in item["instruction"]


async def test_a_block_that_was_lifted_stops_nobody(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        session = await t.session()
        await t.move(task, "blocked")
        await t.move(task, "in_progress")
        assert (await t.call("get_my_task", session)).replaced is None
        assert await t.unread() == 0


@pytest.mark.parametrize("same_task", [True, False])
async def test_an_interrupt_goes_to_who_takes_the_work_up(team: Teams, same_task: bool) -> None:
    """A person's stop outlives the session it was for, but does not stop other work."""
    async with team() as t:
        first = await t.add("first", "in_progress")
        dead = await t.session()
        stop = {"project_id": "p", "type": "interrupt", "action": "cancel", "message": "m"}
        await t.store.write(lambda tx: t.services.use(INBOX).put(tx, agent_id="worker", **stop))
        await t.close(dead, "expired")
        if not same_task:
            await t.move(first, "todo")
            await t.add("second", "in_progress")
        late = await t.session()
        assert (await t.bound(late) == first) is same_task
        assert ((await t.call("get_my_task", late)).replaced is not None) is same_task


async def test_nobody_gets_past_an_interrupt_by_logging_in_again(team: Teams) -> None:
    """It is for the agent in the project: a second session is held, and the one after the last."""
    async with team() as t:
        first = await t.session()
        stop = {"project_id": "p", "type": "interrupt", "action": "cancel", "message": "m"}
        await t.store.write(lambda tx: t.services.use(INBOX).put(tx, agent_id="worker", **stop))
        beside = await t.session()
        assert (await t.call("get_my_task", beside)).replaced is not None
        for over in (first, beside):
            await t.close(over, "logged_out")
        assert (await t.call("get_my_task", await t.session())).replaced is not None


async def test_a_note_for_a_task_session_does_not_stop_the_next_one(team: Teams) -> None:
    async with team() as t:
        await t.add("t", "in_progress")
        session, chat = await t.session(), await t.session(purpose="chat")
        await t.result("notify_task_session", chat, message="hold on", priority="high")
        assert (await t.call("get_my_task", session)).replaced is not None
        await t.result("report_completed", session, result="success")
        await t.add("other", "in_progress")
        assert (await t.call("get_my_task", await t.session())).replaced is None
