"""Markers with the real plugins: guided, asked, done, and nothing twice."""

from dataclasses import replace
from pathlib import Path

import pytest
from aipm_file_chat.testing import Team, team
from aipm_markers.plugin import Markers
from aipm_notifications.plugin import Notifications
from aipm_tasks.api import TASKS, NewTask, Task, TaskStatus
from aipm_tasks.plugin import Tasks

from aipm_core import Json, Reply

PLUGINS = (Notifications, Tasks, Markers)


def error(reply: Reply) -> tuple[str, int]:
    assert reply.error is not None, reply.result
    return reply.error.code, reply.error.status


async def found(made: Team, task_id: str) -> Task:
    task = await made.aipm.runtime.services.use(TASKS).find(made.store, task_id)
    assert task is not None
    return task


async def grow(made: Team) -> None:
    """alice stands above worker, bob does not."""
    await made.add("alice", "bob", kind="human")
    await made.add("worker", parent="alice")


async def test_a_person_is_guided_then_gets_one_task(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.say("alice", "worker", "ログイン機能を作ってください")
        action = (await made.call("get_next_action", "worker", timeout_seconds=0)).result
        assert action["action"] == "get_pending_messages"
        assert action["instruction"].count("【チャットコマンド】") == 1
        pending = (await made.call("get_pending_messages", "worker")).result
        assert "をつけてお送りください" in pending["instruction"]
        refused = await made.call("request_task", "worker", title="ログイン機能を実装")
        assert error(refused) == ("task_request_marker_required", 403)
        await made.call("respond_chat", "worker", content="マーカーをつけてお送りください")
        waiting = (await made.call("get_next_action", "worker", timeout_seconds=0)).result
        assert "【チャットコマンド】" in waiting["instruction"]
        await made.tell("alice", "worker", "＠＠タスク作成：ログイン機能を実装")
        made_task = await made.call("request_task", "worker", title="ログイン機能を実装")
        assert made_task.result["approval_status"] == "approved"
        task = await found(made, made_task.result["task_id"])
        assert (task.requester_id, task.assignee_id) == ("alice", "worker")
        again = await made.call("request_task", "worker", title="ログイン機能を実装")
        assert error(again) == ("marker_already_used", 409)


async def test_the_requester_is_who_sent_the_marker(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.tell("bob", "worker", "@@タスク作成: 頼まれていない仕事")
        reply = await made.call("request_task", "worker", title="仕事", description="by alice")
        assert reply.result["approval_status"] == "pending_approval"
        assert (await found(made, reply.result["task_id"])).requester_id == "bob"


async def test_adjusting_needs_its_marker_and_a_task_not_begun(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.tell("alice", "worker", "@@タスク作成: 一")
        task_id = (await made.call("request_task", "worker", title="一")).result["task_id"]
        change = {"task_id": task_id, "description": "認証機能の改善"}
        refused = await made.call("update_task_from_chat", "worker", **change)
        assert error(refused) == ("task_adjust_marker_required", 403)
        await made.tell("alice", "worker", "@@タスク調整: 説明を変更")
        missing = await made.call("update_task_from_chat", "worker", task_id="tsk_x", title="x")
        assert error(missing) == ("task_not_found", 404)
        assert (await made.call("update_task_from_chat", "worker", **change)).error is None
        assert (await found(made, task_id)).description == "認証機能の改善"


async def test_notifying_the_task_session(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        refused = await made.call("notify_task_session", "worker", message="x")
        assert error(refused) == ("task_notify_marker_required", 403)
        await made.tell("alice", "worker", "@@タスク通知: レビュー完了しました")
        reply = await made.call("notify_task_session", "worker", message="レビュー完了しました")
        assert reply.error is None
        session = made.session("worker", "task")
        notices = (await made.aipm.call("get_notifications", session)).result["notifications"]
        assert "レビュー完了しました" in [notice["message"] for notice in notices]


async def test_a_block_report_stops_the_running_task(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.tell("alice", "worker", "@@タスク作成: 一")
        task_id = (await made.call("request_task", "worker", title="一")).result["task_id"]
        tasks = made.aipm.runtime.services.use(TASKS)
        await made.store.write(
            lambda tx: tasks.change_status(tx, task_id, "in_progress", actor_id="alice")
        )
        await made.say("alice", "worker", "@@ブロック報告: APIキー待ち")
        assert (await found(made, task_id)).status == "blocked"
        stopped = await made.aipm.call("list_tasks", made.session("worker", "task"))
        assert stopped.replaced is not None
        answer = made.lines("alice")[-1]
        assert answer["senderId"] == "worker"
        assert "blocked" in answer["content"]
        await made.say("alice", "worker", "@@完了報告")
        assert (await found(made, task_id)).status == "blocked"
        assert "特定できる実行中のタスクがありません" in made.lines("alice")[-1]["content"]


async def given_task(made: Team, status: TaskStatus) -> str:
    """Let alice, who stands above worker, have it make a task."""
    await made.tell("alice", "worker", "@@タスク作成: 一")
    task_id: str = (await made.call("request_task", "worker", title="一")).result["task_id"]
    if status != "backlog":
        tasks = made.aipm.runtime.services.use(TASKS)
        await made.store.write(
            lambda tx: tasks.change_status(tx, task_id, status, actor_id="alice")
        )
    return task_id


@pytest.mark.parametrize(
    "change", [{"delete": True}, {"status": "todo"}, {"title": "別"}, {"description": "別"}]
)
async def test_a_peer_cannot_have_a_task_changed_by_its_marker(
    tmp_path: Path, change: dict[str, Json]
) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.add("peer", parent="bob")
        await made.add("helper", parent="worker")
        task = await found(made, await given_task(made, "backlog"))
        for sender in ("peer", "helper"):
            await made.tell(sender, "worker", "@@タスク調整: 変更")
            call = await made.call("update_task_from_chat", "worker", task_id=task.id, **change)
            assert error(call) == ("requester_not_allowed", 403)
            assert await found(made, task.id) == task
        await made.tell("bob", "worker", "@@タスク調整: 変更")  # a person of the project may
        call = await made.call("update_task_from_chat", "worker", task_id=task.id, **change)
        assert call.error is None
        assert await found(made, task.id) != task


async def test_whoever_may_change_a_task_may_have_it_changed(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.add("chief", role="manager")
        await made.add("lower", parent="chief")
        tasks = made.aipm.runtime.services.use(TASKS)
        new = NewTask(project_id="p", title="一", actor_id="alice", assignee_id="lower")
        task = await tasks.add(new)
        chief = replace(made.session("chief"), role="manager")
        await made.tell("lower", "chief", "@@タスク調整: わたしの仕事です")
        own = await made.aipm.call("update_task_from_chat", chief, task_id=task.id, title="二")
        assert own.error is None
        await made.tell("chief", "lower", "@@タスク調整: 三")
        above = await made.call("update_task_from_chat", "lower", task_id=task.id, title="三")
        assert above.error is None
        await made.tell("worker", "lower", "@@タスク調整: 四")
        beside = await made.call("update_task_from_chat", "lower", task_id=task.id, title="四")
        assert error(beside) == ("requester_not_allowed", 403)


@pytest.mark.parametrize("report", ["@@完了報告", "@@ブロック報告: 邪魔"])
async def test_a_peer_cannot_report_on_a_task(tmp_path: Path, report: str) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.add("peer", parent="bob")
        task = await found(made, await given_task(made, "in_progress"))
        await made.say("peer", "worker", report)
        assert await found(made, task.id) == task
        assert "peer には" in made.lines("peer")[-1]["content"]


async def test_the_server_never_writes_in_the_name_of_a_person(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await made.add("carol", kind="human")
        await made.add("alice", kind="human", parent="carol")
        await made.add("bob", kind="human")
        tasks = made.aipm.runtime.services.use(TASKS)
        new = NewTask(project_id="p", title="一", actor_id="carol", assignee_id="alice")
        task = await tasks.add(replace(new, status="in_progress"))
        for sender in ("carol", "bob"):
            for report in ("@@task-status", "@@report-done", "@@report-blocked: x"):
                await made.say(sender, "alice", report)
        assert await found(made, task.id) == task
        assert {line["senderId"] for line in made.lines("alice")} == {"carol", "bob"}
