"""The one table, and what else may or may not happen to a task."""

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any, get_args

import pytest
from aipm_devkit.testing import running
from aipm_sessions.api import SESSIONS
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_tasks.api import TaskStatus
from aipm_tasks.plugin import Tasks
from aipm_tasks.transitions import NEXT, RANKS, is_finished

from aipm_core import CallError
from aipm_core.texts import Texts

Teams = Callable[..., Any]
STATUSES = get_args(TaskStatus)
# Written out once more, from the contract: the table in the code is what is being tested.
CONTRACT = {
    "backlog": {"todo", "in_progress", "cancelled"},
    "todo": {"backlog", "in_progress", "cancelled"},
    "in_progress": {"todo", "blocked", "done", "cancelled"},
    "blocked": {"todo", "in_progress", "cancelled"},
    "done": set(),
    "cancelled": set(),
}


async def test_every_step_of_the_table_and_no_other(team: Teams) -> None:
    async with team() as t:
        session = await t.session("boss")  # a person, whom no block holds back
        for start, end in product(STATUSES, STATUSES):
            task = await t.add(f"{start} {end}", start)
            code = await t.code("update_task_status", session, task_id=task, status=end)
            expected = None if end in CONTRACT[start] else "invalid_transition"
            assert code == expected, (start, end)
            assert await t.status(task) == (start if expected else end)


async def test_people_are_bound_by_the_same_table(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "done")
        with pytest.raises(CallError) as refused:
            await t.move(task, "todo")
        assert (refused.value.code, refused.value.status) == ("invalid_transition", 409)
        assert await t.status(task) == "done"


def test_finished_and_ranks() -> None:
    assert [s for s in STATUSES if is_finished(s)] == ["done", "cancelled"]
    assert set(NEXT) == set(STATUSES)
    assert sorted(RANKS, key=lambda p: RANKS[p]) == ["urgent", "high", "medium", "low"]


@pytest.mark.parametrize("approval", ["pending_approval", "rejected"])
async def test_nothing_starts_without_approval(team: Teams, approval: str) -> None:
    async with team() as t:
        task = await t.add("t", "todo", approval=approval)
        worker, chat = await t.session(), await t.session(purpose="chat")
        move = {"task_id": task, "status": "in_progress"}
        assert await t.code("update_task_status", worker, **move) == "task_not_approved"
        assert await t.code("update_task_from_chat", chat, **move) == "task_not_approved"
        with pytest.raises(CallError):
            await t.move(task, "in_progress")
        assert await t.status(task) == "todo"


async def test_nothing_starts_before_its_dependencies_are_finished(team: Teams) -> None:
    async with team() as t:
        first, second = await t.add("1", "in_progress"), await t.add("2", "todo")
        task = await t.add("3", "todo", dependencies=(first, second))
        session = await t.session()
        move = {"task_id": task, "status": "in_progress"}
        assert await t.code("update_task_status", session, **move) == "dependencies_unfinished"
        await t.move(first, "done")
        assert await t.code("update_task_status", session, **move) == "dependencies_unfinished"
        await t.move(second, "cancelled")
        assert await t.code("update_task_status", session, **move) is None


async def test_done_needs_finished_subtasks(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        child = await t.add("child", "todo", parent_task_id=task)
        session = await t.session()
        assert await t.code("report_completed", session, result="success") == "subtasks_unfinished"
        assert await t.is_live(session)
        assert await t.bound(session) == task
        move = {"task_id": task, "status": "done"}
        assert await t.code("update_task_status", session, **move) == "subtasks_unfinished"
        await t.move(child, "cancelled")
        assert (await t.result("report_completed", session, result="success"))["status"] == "done"


@pytest.mark.parametrize("result", ["failed", "blocked"])
async def test_only_success_needs_finished_subtasks(team: Teams, result: str) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        child = await t.add("child", "in_progress", parent_task_id=task, assignee_id="peer")
        idle = await t.add("idle", "todo", parent_task_id=task)
        other = await t.add("other", "in_progress")
        session = await t.session()
        done = await t.result("report_completed", session, result=result, summary="無理")
        assert done["status"] == await t.status(task) == "blocked"
        assert await t.status(child) == "blocked"
        assert await t.status(idle) == "todo"
        assert await t.status(other) == "in_progress"
        (row,) = await t.rows("select result, summary from tasks where id = ?", task)
        assert row == {"result": result, "summary": "無理"}


async def test_limits_on_depth_and_children(team: Teams) -> None:
    async with team(max_depth=2, max_children=2) as t:
        session = await t.session()
        root = await t.add("root")
        children = [
            await t.result("create_task", session, title="c", parent_task_id=root) for _ in "ab"
        ]
        again = {"title": "c", "parent_task_id": root}
        assert await t.code("create_task", session, **again) == "too_many_subtasks"
        below = {"title": "d", "parent_task_id": children[0]["task"]["id"]}
        assert await t.code("create_task", session, **below) == "task_too_deep"
        assert await t.code("request_task", session, **below) == "task_too_deep"
        assert len(await t.rows("select 1 from tasks")) == 3


async def test_dependencies_cannot_go_round(team: Teams) -> None:
    async with team() as t:
        session = await t.session()
        root = await t.add("root")
        waits = await t.add("waits for root", dependencies=(root,))
        far = await t.add("waits for that", dependencies=(waits,))
        for wrong in (root, waits, far):
            new = {"title": "c", "parent_task_id": root, "dependencies": [wrong]}
            assert await t.code("create_task", session, **new) == "dependency_circle"
        sibling = await t.add("sibling", parent_task_id=root)
        fine = {"title": "c", "parent_task_id": root, "dependencies": [sibling, sibling]}
        assert await t.code("create_task", session, **fine) is None


async def test_a_finished_parent_takes_no_more(team: Teams) -> None:
    async with team() as t:
        root = await t.add("root", "done")
        session = await t.session()
        new = {"title": "c", "parent_task_id": root}
        assert await t.code("create_task", session, **new) == "parent_finished"


async def test_every_change_has_its_real_actor(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "todo")
        session = await t.session()
        await t.result("update_task_status", session, task_id=task, status="in_progress")
        await t.move(task, "blocked", "待って")
        await t.move(task, "in_progress")
        await t.result("get_notifications", session)
        await t.result("report_completed", session, result="success", summary="できた")
        _, past = await t.tasks.get(task)
        assert [
            (p["actor_id"], p["what"], p["from_status"], p["to_status"], p["reason"]) for p in past
        ] == [
            ("operator", "created", None, "todo", None),
            ("worker", "status", "todo", "in_progress", None),
            ("operator", "status", "in_progress", "blocked", "待って"),
            ("operator", "status", "blocked", "in_progress", None),
            ("worker", "status", "in_progress", "done", "できた"),
        ]


def test_both_languages_have_the_same_texts() -> None:
    assert Texts.load("aipm_tasks", "ja").keys() == Texts.load("aipm_tasks", "en").keys()


async def test_a_task_of_nobody_is_for_those_who_asked_and_for_managers(team: Any) -> None:
    async with team() as t:
        worker, lead = await t.session("worker"), await t.session("lead")
        free = await t.add(assignee_id=None)
        asked = await t.add(assignee_id=None)
        await t.store.write(
            lambda tx: tx.run("update tasks set requester_id = 'peer' where id = ?", asked)
        )
        move = {"status": "cancelled", "reason": "x"}
        assert await t.code("update_task_status", worker, task_id=asked, **move) == "not_your_task"
        assert await t.status(asked) == "backlog"
        assert await t.code("update_task_status", worker, task_id=free, **move) is None
        assert await t.code("update_task_status", lead, task_id=asked, **move) is None


async def test_without_notifications_tasks_are_asked_for_and_done_all_the_same() -> None:
    async with running(Sessions, Tasks) as aipm:
        services, store = aipm.runtime.services, aipm.runtime.store
        administration, session_store = services.use(ADMINISTRATION), services.use(SESSIONS)
        await administration.add_project("p", "P", None)
        sessions = []
        for name, role, parent in (("lead", "manager", None), ("worker", "worker", "lead")):
            more: Any = {"kind": "ai", "role": role, "parent": parent}
            agent, _ = await administration.add_agent(name, project_id="p", name=name, **more)
            opened = await store.write(
                partial(session_store.open, agent=agent, project_id="p", purpose="task")
            )
            sessions.append(opened[0])
        lead, worker = sessions
        asked = (await aipm.call("request_task", worker, title="x")).result
        assert asked["approval_status"] == "pending_approval"
        reply = await aipm.call("approve_task_request", lead, task_id=asked["task_id"])
        assert reply.error is None
        begun = {"task_id": asked["task_id"], "status": "in_progress"}
        assert (await aipm.call("update_task_status", worker, **begun)).error is None
        done = await aipm.call("report_completed", worker, result="success")
        assert done.result["status"] == "done"
