"""Which session works on which task, for how long, and what it is told to do next."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest
from aipm_sessions.api import SESSIONS, WORK
from aipm_sessions.plugin import WORK_CLAIMS
from aipm_tasks.overview import OVERVIEW

from aipm_core import Reply

Teams = Callable[..., Any]
REPLACED = (
    "通知があります。\n\n1. get_notifications() を呼び出して詳細を確認してください\n"
    "2. 通知の指示に従ってください"
)


async def test_the_flow_of_the_seed(team: Teams) -> None:
    async with team() as t:
        task = await t.add("作業", "in_progress")
        session = await t.session()
        assert await t.bound(session) == task
        assert (await t.next(session))["action"] == "work"
        await t.move(task, "blocked", "仕様変更")
        assert await t.call("get_my_task", session) == Reply(replaced=REPLACED)
        (item,) = (await t.result("get_notifications", session))["notifications"]
        assert (item["type"], item["action"], item["task_id"]) == ("interrupt", "blocked", task)
        assert "仕様変更" in item["message"]
        assert 'report_completed(result="blocked")' in item["instruction"]
        reply = await t.call("report_completed", session, result="blocked")
        assert reply.result["status"] == "blocked"
        assert reply.result["success"] is True
        assert reply.envelope()["notification"] == "通知はありません"
        assert not await t.is_live(session)
        assert await t.status(task) == "blocked"
        again = await t.session()
        assert await t.bound(again) is None
        assert (await t.next(again))["action"] == "wait_for_task"


async def test_an_interrupt_ends_a_waiting_poll(team: Teams) -> None:
    async with team() as t:
        task = await t.add("parent", "in_progress")
        await t.add("child", "in_progress", assignee_id="peer", parent_task_id=task)
        session = await t.session()
        assert (await t.next(session))["action"] == "wait_for_subtasks"
        reply = await t.while_waiting(session, lambda: t.move(task, "cancelled"))
        assert reply == Reply(replaced=REPLACED)
        found = await t.result("get_notifications", session)
        assert found["notifications"][0]["action"] == "cancel"
        assert [r["tool"] for r in found["withheld_results"]] == ["get_next_action"]
        done = await t.result("report_completed", session, result="blocked")
        assert done["status"] == await t.status(task) == "cancelled"


async def test_a_session_without_a_task_gets_the_one_that_comes(team: Teams) -> None:
    async with team() as t:
        session = await t.session()
        task: list[str] = []

        async def add() -> None:
            task.append(await t.add("new", "in_progress"))

        reply = await t.while_waiting(session, add)
        assert reply.result["action"] == "work"
        assert reply.result["task"]["id"] == task[0] == await t.bound(session)


async def test_the_most_urgent_task_comes_first(team: Teams) -> None:
    async with team() as t:
        for priority in ("high", "low", "medium", "urgent"):
            await t.add(priority, "in_progress", priority=priority)
        titles = []
        for _ in range(4):
            session = await t.session()
            titles.append((await t.result("get_my_task", session))["task"]["title"])
        assert titles == ["urgent", "high", "medium", "low"]
        assert await t.bound(await t.session()) is None


async def test_todo_is_offered_and_starting_it_binds_it(team: Teams) -> None:
    async with team() as t:
        await t.add("later", "backlog")
        session = await t.session()
        assert (await t.next(session))["action"] == "wait_for_task"
        await t.add("low", "todo", priority="low")
        task = await t.add("high", "todo", priority="high")
        offered = await t.next(session)
        assert (offered["action"], offered["task"]["id"]) == ("start_task", task)
        await t.result("update_task_status", session, task_id=task, status="in_progress")
        assert await t.bound(session) == task
        assert (await t.next(session))["action"] == "work"


async def test_what_must_wait_is_not_offered(team: Teams) -> None:
    async with team() as t:
        first = await t.add("first", "todo", assignee_id="peer")
        await t.add("second", "todo", dependencies=(first,))
        await t.add("pending", "todo", approval="pending_approval")
        parent = await t.add("parent", "in_progress", assignee_id="peer")
        await t.add("below", "todo", parent_task_id=parent)
        await t.move(parent, "blocked")
        session = await t.session()
        await t.result("get_notifications", session)
        assert (await t.next(session))["action"] == "wait_for_task"
        reply = await t.while_waiting(session, lambda: t.move(first, "cancelled"))
        assert reply.result["task"]["title"] == "second"


async def test_subtasks_then_report(team: Teams) -> None:
    async with team() as t:
        task = await t.add("main", "in_progress", assignee_id="lead")
        session = await t.session("lead")
        assert (await t.next(session))["action"] == "work"
        own = await t.result("create_task", session, title="own", parent_task_id=task)
        other = await t.result(
            "create_task", session, title="other", parent_task_id=task, assignee_id="peer"
        )
        own, other = own["task"]["id"], other["task"]["id"]
        step = await t.next(session)
        assert (step["action"], step["subtask"]["id"]) == ("start_subtask", own)
        await t.result("update_task_status", session, task_id=own, status="in_progress")
        assert await t.bound(session) == task
        step = await t.next(session)
        assert (step["action"], step["subtask"]["id"]) == ("execute_subtask", own)
        await t.result("update_task_status", session, task_id=own, status="done")
        step = await t.next(session)
        assert (step["action"], step["subtask"]["id"]) == ("start_subtask", other)
        await t.result("update_task_status", session, task_id=other, status="in_progress")
        assert (await t.next(session))["action"] == "wait_for_subtasks"
        peer = await t.session("peer")
        assert await t.bound(peer) == other

        async def fail() -> None:
            await t.result("report_completed", peer, result="failed", summary="壊れた")

        reply = await t.while_waiting(session, fail)
        assert reply.result["action"] == "resolve_blocked_subtasks"
        assert [one["id"] for one in reply.result["subtasks"]] == [other]
        await t.result("update_task_status", session, task_id=other, status="cancelled")
        step = await t.next(session)
        assert (step["action"], step["result"]) == ("report_completed", "success")
        done = await t.result("report_completed", session, result="success")
        assert done["status"] == await t.status(task) == "done"


async def test_a_silent_session_loses_its_task_and_may_still_report(team: Teams) -> None:
    async with team(lease_seconds=100) as t:
        task = await t.add("slow", "in_progress")
        first = await t.session()
        waiting = await t.session()
        assert await t.bound(waiting) is None
        t.watch.time += 101
        t.services.use(SESSIONS).seen(waiting.id)
        assert (await t.next(waiting))["action"] == "work"
        assert await t.bound(waiting) == task
        assert await t.bound(first) is None
        late = await t.result("report_completed", first, result="success", summary="遅れて完了")
        assert late["status"] == await t.status(task) == "done"
        step = await t.next(waiting)
        assert (step["action"], step["result"]) == ("report_completed", "success")
        assert (await t.result("report_completed", waiting, result="success"))["status"] == "done"


async def test_upkeep_frees_what_is_silent(team: Teams) -> None:
    async with team(lease_seconds=100) as t:
        task = await t.add("slow", "in_progress")
        session = await t.session()
        bindings: Any = t.tasks._bindings
        assert await t.store.write(bindings.free_silent) == 0
        t.watch.time += 101
        assert await bindings.silent(t.store) == [session.id]
        assert await t.store.write(bindings.free_silent) == 1
        assert await t.bound(session) is None
        t.services.use(SESSIONS).seen(session.id)
        assert (await t.next(session))["action"] == "work"
        assert await t.bound(session) == task


async def test_the_end_of_a_session_frees_its_task(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        first, second = await t.session(), await t.session()
        reply = await t.while_waiting(second, lambda: t.close(first))
        assert reply.result["task"]["id"] == task == await t.bound(second)


async def test_purpose_follows_the_work(team: Teams) -> None:
    async with team() as t:
        sessions: Any = t.services.use(SESSIONS)

        async def purpose() -> str:
            return str(await t.store.write(lambda tx: sessions.purpose_for(tx, "worker", "p")))

        await t.add("t", "todo")
        assert await purpose() == "chat"
        await t.add("t", "in_progress")
        assert await purpose() == "task"
        needs = await t.services.use(WORK).needs(t.store)
        assert [(n.agent_id, n.project_id, n.purpose) for n in needs] == [("worker", "p", "task")]
        await t.session()
        assert await purpose() == "chat"
        assert await t.services.use(WORK_CLAIMS).list_missing(t.store) == []


async def test_pause_and_resume(team: Teams) -> None:
    async with team() as t:
        from aipm_notifications.sender import SENDER

        sender = t.services.use(SENDER)
        how: dict[str, Any] = {"message": None, "audience": None}
        task = await t.add("t", "in_progress")
        session = await t.session()
        await sender.send("worker", "p", type="interrupt", action="pause", **how)
        (item,) = (await t.result("get_notifications", session))["notifications"]
        assert "get_next_action(timeout_seconds=55)" in item["instruction"]
        assert (await t.next(session))["action"] == "wait_for_resume"
        assert await t.status(task) == "in_progress"
        reply = await t.while_waiting(
            session,
            lambda: sender.send("worker", "p", type="message", action="resume", **how),
        )
        assert reply.result["action"] == "work"
        assert "【重要】" in reply.envelope()["notification"]


async def test_a_pause_does_not_hold_what_a_person_starts_after_it(team: Teams) -> None:
    async with team() as t:
        from aipm_notifications.sender import SENDER

        session = await t.session()
        await t.services.use(SENDER).send(
            "worker", "p", type="interrupt", action="pause", message="x", audience=None
        )
        await t.result("get_notifications", session)
        task = await t.add("todo", "todo")
        assert (await t.next(session))["action"] == "wait_for_resume"
        await t.move(task, "in_progress")
        assert (await t.next(session))["action"] == "work"


async def test_news_end_the_wait_of_a_task_session(team: Teams) -> None:
    async with team() as t:
        session, chat = await t.session(), await t.session(purpose="chat")
        reply = await t.while_waiting(
            session, lambda: t.result("notify_task_session", chat, message="急いで")
        )
        assert reply.result["action"] == "get_notifications"
        assert (await t.next(session))["action"] == "get_notifications"
        (item,) = (await t.result("get_notifications", session))["notifications"]
        assert (item["type"], item["message"]) == ("task_session_notice", "急いで")
        assert (await t.next(session))["action"] == "wait_for_task"


async def test_a_task_moved_back_is_let_go(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        session = await t.session()
        await t.move(task, "todo")
        assert (await t.next(session))["action"] == "start_task"
        assert await t.bound(session) is None


@pytest.mark.parametrize("seconds", [-1, 56, 1.5, "10"])
async def test_the_wait_is_bounded(team: Teams, seconds: Any) -> None:
    async with team() as t:
        session = await t.session()
        code = await t.code("get_next_action", session, timeout_seconds=seconds)
        assert code == "invalid_arguments"


async def test_who_watches_the_status_sees_changes_at_once(team: Teams) -> None:
    async with team(lease_seconds=100) as t:
        overview = t.services.use(OVERVIEW)
        session = await t.session()
        changes: list[Callable[[], Any]] = [
            lambda: t.add("new", "in_progress"),
            lambda: t.session("peer", "chat"),
            lambda: t.close(session),
        ]
        for change in changes:
            async with anyio.create_task_group() as group:
                group.start_soon(overview.change, "p", 60)
                await anyio.wait_all_tasks_blocked()
                with anyio.fail_after(30):
                    await change()
        await t.session()
        t.watch.time += 101
        lines = {line["agent_id"]: line for line in await overview.look(["p"])}
        assert lines["worker"]["sessions"][0]["stale"] is True
        assert lines["worker"]["sessions"][0]["task_title"] == "new"


async def test_a_session_that_is_over_is_told_so_by_every_tool(team: Teams) -> None:
    async with team() as t:
        await t.add("作業", "in_progress")
        session = await t.session()
        await t.result("report_completed", session, result="success")
        over = replace(session, over=True)  # as its token is recognised from now on
        for tool in ("get_my_task", "create_task", "notify_task_session", "approve_task_request"):
            assert await t.code(tool, over) == "session_invalid", tool
