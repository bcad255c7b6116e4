"""An approval is for what was asked: whoever approves has seen what it is about."""

from collections.abc import Callable
from typing import Any

import pytest
from aipm_sessions.api import DECISIONS, OPERATOR

from aipm_core import CallError

Teams = Callable[..., Any]
VERDICTS = ("approve_task_request", "reject_task_request")


async def approval(t: Any, task_id: str) -> tuple[str, str]:
    (row,) = await t.rows("select approval_status, status from tasks where id = ?", task_id)
    return row["approval_status"], row["status"]


@pytest.mark.parametrize("change", [{"title": "Drop the database"}, {"description": "rm -rf"}])
@pytest.mark.parametrize("verdict", VERDICTS)
async def test_a_changed_request_is_asked_anew(
    team: Teams, verdict: str, change: dict[str, str]
) -> None:
    async with team() as t:
        worker, lead = await t.session(purpose="chat"), await t.session("lead")
        task = (await t.result("request_task", worker, title="Fix a typo"))["task_id"]
        await t.result("get_notifications", lead)
        await t.result("update_task_from_chat", worker, task_id=task, **change)
        reply = await t.call(verdict, lead, task_id=task)
        assert reply.error is not None
        assert (reply.error.code, reply.error.status) == ("task_request_changed", 409)
        assert await approval(t, task) == ("pending_approval", "backlog")
        (item,) = (await t.result("get_notifications", lead))["notifications"]
        assert (item["action"], item["task_id"]) == ("approve_task_request", task)
        anew = f"{task}.2"
        assert f'"{anew}"' in item["instruction"]
        assert anew in reply.error.message
        done = await t.result(verdict, lead, task_id=anew)
        assert done["task_id"] == task
        assert await t.code(verdict, lead, task_id=anew) == "task_request_already_processed"


async def test_people_answer_what_the_inbox_shows_now(team: Teams) -> None:
    async with team() as t:
        board, worker = t.services.use(DECISIONS), await t.session(purpose="chat")
        task = (await t.result("request_task", worker, title="Fix a typo"))["task_id"]
        (seen,) = await board.pending(t.store, "p")
        for title in ("Drop the database", "Drop it all"):
            await t.result("update_task_from_chat", worker, task_id=task, title=title)
            for who in ("boss", OPERATOR):
                with pytest.raises(CallError) as refused:
                    await board.answer(seen.id, approved=True, by=who)
                assert (refused.value.code, refused.value.status) == ("task_request_changed", 409)
            (shown,) = await board.pending(t.store, "p")
            assert shown.id != seen.id
            assert title in shown.summary
            seen = shown
        await board.answer(seen.id, approved=True, by="boss")
        assert await approval(t, task) == ("approved", "backlog")


async def test_what_does_not_change_the_request_needs_no_second_look(team: Teams) -> None:
    async with team() as t:
        worker, lead = await t.session(purpose="chat"), await t.session("lead")
        task = (await t.result("request_task", worker, title="Fix a typo"))["task_id"]
        same = {"title": "Fix a typo", "status": "todo"}
        await t.result("update_task_from_chat", worker, task_id=task, **same)
        assert (await t.result("approve_task_request", lead, task_id=task))["status"] == "todo"


@pytest.mark.parametrize("wrong", [".1", ".3", ".02", ".x", ".", ".2.2", "x"])
async def test_an_id_that_was_never_shown_is_unknown(team: Teams, wrong: str) -> None:
    async with team() as t:
        worker, lead = await t.session(purpose="chat"), await t.session("lead")
        task = (await t.result("request_task", worker, title="Fix a typo"))["task_id"]
        await t.result("update_task_from_chat", worker, task_id=task, title="Fix two")
        for verdict in VERDICTS:
            assert await t.code(verdict, lead, task_id=task + wrong) == "task_not_found"
        with pytest.raises(CallError) as refused:
            await t.services.use(DECISIONS).answer(task + wrong, approved=True, by=OPERATOR)
        assert refused.value.status == 404
        assert await approval(t, task) == ("pending_approval", "backlog")


async def test_work_given_to_a_peer_is_put_before_those_above(team: Teams) -> None:
    async with team() as t:
        lead, peer = await t.session("lead"), await t.session("peer")
        new = {"title": "Help me", "assignee_id": "peer", "idempotency_key": "k"}
        made = (await t.result("create_task", await t.session(), **new))["task"]
        (item,) = (await t.result("get_notifications", lead))["notifications"]
        assert (item["action"], item["task_id"]) == ("approve_task_request", made["id"])
        assert "Help me" in item["message"]
        await t.result("create_task", await t.session(), **new)
        assert (await t.result("get_notifications", lead))["notifications"] == []
        assert (await t.result("get_notifications", peer))["notifications"] == []
        done = await t.result("approve_task_request", lead, task_id=made["id"])
        assert done["approval_status"] == "approved"
        (item,) = (await t.result("get_notifications", peer))["notifications"]
        assert item["action"] == "task_request_approved"


async def test_work_for_oneself_and_for_those_below_asks_nobody(team: Teams) -> None:
    async with team() as t:
        await t.result("create_task", await t.session(), title="mine")
        await t.result("create_task", await t.session("lead"), title="yours", assignee_id="worker")
        assert await t.rows("select 1 from notifications") == []
