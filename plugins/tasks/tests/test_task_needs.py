"""Which tasks need a session that is not there: what ``aipm work`` and runners are told."""

from collections.abc import Callable
from typing import Any, TypeAlias

from aipm_notifications.sender import SENDER
from aipm_sessions.api import WORK
from aipm_sessions.plugin import PAUSES, WORK_CLAIMS

Teams: TypeAlias = Callable[..., Any]


async def needed(t: Any) -> list[tuple[str, str]]:
    """Return who is needed, and for which task."""
    needs = await t.services.use(WORK).needs(t.store)
    return [(need.agent_id, need.reason) for need in needs]


async def test_a_task_to_start_needs_its_agent(team: Teams) -> None:
    async with team() as t:
        await t.add("later", "backlog")
        assert await needed(t) == []
        task = await t.add("now", "todo")
        assert await needed(t) == [("worker", f"task {task}")]
        running = await t.add("begun", "in_progress")
        assert await needed(t) == [("worker", f"task {running}")]


async def test_what_cannot_be_started_needs_nobody(team: Teams) -> None:
    async with team() as t:
        first = await t.add("first", "backlog")
        second = await t.add("second", "todo", dependencies=(first,))
        parent = await t.add("parent", "in_progress", assignee_id="peer")
        await t.add("child", "todo", parent_task_id=parent, assignee_id="lead")
        await t.move(parent, "blocked")
        assert await needed(t) == []
        await t.move(first, "cancelled")
        assert await needed(t) == [("worker", f"task {second}")]


async def test_a_request_nobody_approved_needs_nobody(team: Teams) -> None:
    async with team() as t:
        task = await t.add("asked for", "todo")

        async def unit(tx: Any) -> None:
            await tx.run("update tasks set approval_status = 'pending_approval' where id = ?", task)

        await t.store.write(unit)
        assert await needed(t) == []


async def test_an_agent_that_was_asked_to_pause_is_not_needed(team: Teams) -> None:
    async with team() as t:
        await t.add("now", "todo")
        sender: Any = t.services.use(SENDER)
        how = {"message": None, "audience": None}
        await sender.send("worker", "p", type="interrupt", action="pause", **how)
        assert await needed(t) == []
        await sender.send("worker", "p", type="message", action="resume", **how)
        assert [agent for agent, _ in await needed(t)] == ["worker"]


async def test_a_session_that_fell_silent_does_not_hide_the_need(team: Teams) -> None:
    async with team() as t:
        task = await t.add("begun", "in_progress")
        await t.session()
        assert await t.services.use(WORK_CLAIMS).list_missing(t.store) == []
        t.watch.time += 601
        (vacancy,) = await t.services.use(WORK_CLAIMS).list_missing(t.store)
        assert (vacancy.key, vacancy.reasons) == (("p", "worker", "task"), (f"task {task}",))


async def test_a_paused_project_needs_nobody_and_its_agents_wait(team: Teams) -> None:
    async with team() as t:
        task = await t.add("now", "todo")
        session, pauses = await t.session(), t.services.use(PAUSES)
        assert await pauses.set_paused("p", paused=True, by="boss")
        assert not await pauses.set_paused("p", paused=True, by="boss")
        assert await needed(t) == []
        assert await t.code("list_tasks", session) == "project_paused"
        assert await t.code("update_task_status", session, task_id=task, status="todo") == (
            "project_paused"
        )
        assert (await t.next(session))["action"] == "wait_for_resume"
        reply = await t.while_waiting(
            session, lambda: pauses.set_paused("p", paused=False, by="boss")
        )
        assert reply.result["action"] == "start_task"
        assert await t.code("list_tasks", session) is None


async def test_a_finished_task_can_be_reported_in_a_paused_project(team: Teams) -> None:
    async with team() as t:
        task = await t.add("begun", "in_progress")
        session = await t.session()
        await t.services.use(PAUSES).set_paused("p", paused=True, by="boss")
        await t.result("report_completed", session, result="success")
        assert await t.status(task) == "done"


async def test_other_projects_go_on(team: Teams) -> None:
    async with team() as t:
        await t.services.use(PAUSES).set_paused("p", paused=True, by="boss")
        session = await t.session("stranger", "chat", "q")
        assert await t.code("list_tasks", session) is None
