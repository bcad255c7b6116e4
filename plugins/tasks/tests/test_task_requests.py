"""Requests, approval, and what a chat session may do about tasks."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from aipm_sessions.api import DECISIONS
from aipm_tasks.api import TaskPermission

from aipm_core import CallError, Migration, Plugin, Session, Tx, hookimpl
from aipm_core.errors import PluginError

Teams = Callable[..., Any]


class Marker(Plugin):
    """Knows who asked, or refuses."""

    asked_by: str | None = None

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        yield Migration(name="markers", sql="create table markers (tool text);")

    @hookimpl
    def aipm_task_permissions(self) -> Iterable[TaskPermission]:
        yield TaskPermission(name="marker", spend=self.spend)

    async def spend(self, tx: Tx, session: Session, tool: str) -> str | None:
        if self.asked_by is None:
            raise CallError("no marker", code="marker_required", status=403)
        await tx.run("insert into markers (tool) values (?)", tool)
        return self.asked_by


def marker(by: str | None) -> type[Plugin]:
    return type("Marker", (Marker,), {"asked_by": by})


@pytest.mark.parametrize(
    ("asked_by", "approval"),
    [
        ("lead", "approved"),
        ("boss", "approved"),
        ("peer", "pending_approval"),
        ("worker", "pending_approval"),
        ("guest", "pending_approval"),
    ],
)
async def test_only_a_superior_needs_no_approval(team: Teams, asked_by: str, approval: str) -> None:
    async with team(marker(asked_by)) as t:
        chat = await t.session(purpose="chat")
        made = await t.result("request_task", chat, title="調査", priority="high")
        assert made["approval_status"] == approval
        (row,) = await t.rows("select * from tasks where id = ?", made["task_id"])
        assert (row["requester_id"], row["assignee_id"]) == (asked_by, "worker")
        assert (row["status"], row["priority"]) == ("backlog", "high")


async def test_a_request_from_a_task_session_is_the_agents_own(team: Teams) -> None:
    async with team() as t:
        made = await t.result("request_task", await t.session(), title="x")
        assert made["approval_status"] == "pending_approval"
        (row,) = await t.rows("select requester_id from tasks")
        assert row["requester_id"] == "worker"


async def test_without_consent_nothing_happens(team: Teams) -> None:
    async with team(marker(None)) as t:
        task = await t.add("t")
        chat = await t.session(purpose="chat")
        calls: dict[str, Any] = {
            "request_task": {"title": "x"},
            "update_task_from_chat": {"task_id": task, "title": "new"},
            "notify_task_session": {"message": "x"},
        }
        for tool, arguments in calls.items():
            assert await t.code(tool, chat, **arguments) == "marker_required"
        assert [row["title"] for row in await t.rows("select title from tasks")] == ["t"]
        assert await t.unread() == 0


async def test_a_permission_has_a_name_of_its_own(team: Teams) -> None:
    class Forger(Plugin):
        """Takes the name of another permission."""

        @hookimpl
        def aipm_task_permissions(self) -> Iterable[TaskPermission]:
            yield TaskPermission(name="marker", spend=self.spend)

        async def spend(self, tx: Tx, session: Session, tool: str) -> str | None:
            return "boss"

    problem = "plugin 'marker': aipm_task_permissions: 'marker' is given twice"
    with pytest.raises(PluginError, match=problem):
        async with team(marker("lead"), Forger):
            pass


async def test_a_refused_call_spends_nothing(team: Teams) -> None:
    async with team(marker("lead")) as t:
        running = await t.add("t", "in_progress")
        chat = await t.session(purpose="chat")
        calls: dict[str, Any] = {
            "request_task": {"title": "x", "parent_task_id": "tsk_none"},
            "update_task_from_chat": {"task_id": running, "title": "new"},
            "notify_task_session": {"message": "x", "related_task_id": "tsk_none"},
        }
        codes = [await t.code(tool, chat, **arguments) for tool, arguments in calls.items()]
        assert codes == ["task_not_found", "task_not_adjustable", "task_not_found"]
        assert await t.rows("select * from markers") == []


async def test_approval_by_a_manager_above(team: Teams) -> None:
    async with team() as t:
        made = await t.result("request_task", await t.session(), title="x")
        lead, stranger = await t.session("lead"), await t.session("stranger", project="q")
        (item,) = (await t.result("get_notifications", lead))["notifications"]
        assert f'approve_task_request(task_id="{made["task_id"]}")' in item["instruction"]
        which = {"task_id": made["task_id"]}
        assert await t.code("approve_task_request", stranger, **which) == "task_not_found"
        worker = await t.session()
        assert await t.code("approve_task_request", worker, **which) == "manager_required"
        done = await t.result("approve_task_request", lead, **which, reason="よい")
        assert done["approval_status"] == "approved"
        assert done["status"] == "backlog"
        for tool in ("approve_task_request", "reject_task_request"):
            assert await t.code(tool, lead, **which) == "task_request_already_processed"
        (item,) = (await t.result("get_notifications", worker))["notifications"]
        assert "承認されました" in item["message"]
        await t.move(made["task_id"], "in_progress")


async def test_a_manager_beside_may_not_approve(team: Teams) -> None:
    async with team() as t:
        await t._add("other-lead", "p", "ai", "manager", "boss")
        made = await t.result("request_task", await t.session(), title="x")
        beside = await t.session("other-lead")
        which = {"task_id": made["task_id"]}
        assert await t.code("approve_task_request", beside, **which) == "approval_not_allowed"
        boss = await t.session("boss", "chat")
        assert await t.code("approve_task_request", boss, **which) is None


async def test_a_rejected_request_is_over(team: Teams) -> None:
    async with team() as t:
        made = await t.result("request_task", await t.session(), title="x")
        lead = await t.session("lead")
        done = await t.result("reject_task_request", lead, task_id=made["task_id"], reason="不要")
        assert (done["approval_status"], done["status"]) == ("rejected", "cancelled")
        (row,) = await t.rows("select message from notifications where agent_id = 'worker'")
        assert "却下" in row["message"]
        assert "不要" in row["message"]


async def test_people_decide_through_the_board(team: Teams) -> None:
    async with team() as t:
        board = t.services.use(DECISIONS)
        made = await t.result("request_task", await t.session(), title="調査")
        (decision,) = await board.pending(t.store, "p")
        assert (decision.id, decision.kind) == (made["task_id"], "task_request")
        assert (decision.agent_id, decision.project_id) == ("worker", "p")
        assert "調査" in decision.summary
        assert await board.pending(t.store, "q") == []
        for who in ("guest", "lead", "nobody"):
            with pytest.raises(CallError) as refused:
                await board.answer(decision.id, approved=True, by=who)
            assert refused.value.status == 403
        await board.answer(decision.id, approved=True, by="boss")
        assert await board.pending(t.store, None) == []
        with pytest.raises(CallError) as refused:
            await board.answer(decision.id, approved=False, by="operator")
        assert refused.value.status == 409
        ordinary = await t.add("never a request")
        for unknown in (ordinary, "tsk_none"):
            with pytest.raises(CallError) as refused:
                await board.answer(unknown, approved=True, by="operator")
            assert refused.value.status == 404


@pytest.mark.parametrize("status", ["in_progress", "blocked", "done", "cancelled"])
async def test_only_what_has_not_started_is_adjusted(team: Teams, status: str) -> None:
    async with team() as t:
        task = await t.add("t", status)
        chat = await t.session(purpose="chat")
        for change in ({"title": "new"}, {"delete": True}, {"status": "todo"}):
            code = await t.code("update_task_from_chat", chat, task_id=task, **change)
            assert code == "task_not_adjustable"
        assert await t.status(task) == status


async def test_adjusting_a_task(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t")
        chat = await t.session(purpose="chat")
        done = await t.result(
            "update_task_from_chat", chat, task_id=task, title="新", description="詳", status="todo"
        )
        assert done == {"task_id": task, "updated_fields": ["title", "description", "status"]}
        (row,) = await t.rows("select title, description, status from tasks")
        assert row == {"title": "新", "description": "詳", "status": "todo"}
        done = await t.result("update_task_from_chat", chat, task_id=task, delete=True)
        assert done["updated_fields"] == ["status"]
        assert await t.status(task) == "cancelled"
        assert await t.unread() == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, "invalid_arguments"),
        ({"title": " "}, "invalid_arguments"),
        ({"delete": True, "status": "todo"}, "invalid_arguments"),
        ({"status": "started"}, "invalid_arguments"),
        ({"status": "done"}, "invalid_transition"),
        ({"task_id": "tsk_none", "title": "x"}, "task_not_found"),
    ],
)
async def test_adjustments_that_make_no_sense(
    team: Teams, change: dict[str, Any], code: str
) -> None:
    async with team() as t:
        task = await t.add("t")
        chat = await t.session(purpose="chat")
        arguments = {"task_id": task, **change}
        assert await t.code("update_task_from_chat", chat, **arguments) == code


async def test_high_priority_interrupts_the_task_session_only(team: Teams) -> None:
    async with team() as t:
        session, chat = await t.session(), await t.session(purpose="chat")
        task = await t.add("t", "in_progress")
        made = await t.result(
            "notify_task_session",
            chat,
            message="方針変更",
            priority="high",
            related_task_id=task,
            conversation_id="cnv_1",
        )
        assert (await t.call("get_my_task", chat)).replaced is None
        assert (await t.call("get_my_task", session)).replaced is not None
        (item,) = (await t.result("get_notifications", session))["notifications"]
        assert item["id"] == made["notification_id"]
        assert (item["type"], item["message"], item["task_id"]) == ("interrupt", "方針変更", task)
        assert "cnv_1" in item["instruction"]
        assert (await t.next(session))["action"] == "work"


@pytest.mark.parametrize(
    "wrong", [{}, {"message": ""}, {"message": "x" * 4001}, {"message": "x", "priority": "low"}]
)
async def test_bad_notices(team: Teams, wrong: dict[str, Any]) -> None:
    async with team() as t:
        chat = await t.session(purpose="chat")
        assert await t.code("notify_task_session", chat, **wrong) == "invalid_arguments"
