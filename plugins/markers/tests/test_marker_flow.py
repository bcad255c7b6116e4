"""The flows of seed 002 with the real plugins: guided, asked, done, and nothing twice."""

from pathlib import Path

from aipm_file_chat.testing import Team, team
from aipm_markers.plugin import Markers
from aipm_notifications.plugin import Notifications
from aipm_tasks.api import TASK_DESK, Task
from aipm_tasks.plugin import Tasks

from aipm_core import Reply

PLUGINS = (Notifications, Tasks, Markers)


def error(reply: Reply) -> tuple[str, int]:
    assert reply.error is not None, reply.result
    return reply.error.code, reply.error.status


async def found(made: Team, task_id: str) -> Task:
    task = await made.aipm.runtime.services.use(TASK_DESK).find(made.store, task_id)
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
        await made.say("alice", "worker", "＠＠タスク作成：ログイン機能を実装")
        made_task = await made.call("request_task", "worker", title="ログイン機能を実装")
        assert made_task.result["approval_status"] == "approved"
        task = await found(made, made_task.result["task_id"])
        assert (task.requester_id, task.assignee_id) == ("alice", "worker")
        again = await made.call("request_task", "worker", title="ログイン機能を実装")
        assert error(again) == ("marker_already_used", 409)


async def test_the_requester_is_who_sent_the_marker(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.say("bob", "worker", "@@タスク作成: 頼まれていない仕事")
        reply = await made.call("request_task", "worker", title="仕事", description="by alice")
        assert reply.result["approval_status"] == "pending_approval"
        assert (await found(made, reply.result["task_id"])).requester_id == "bob"


async def test_adjusting_needs_its_marker_and_a_task_not_begun(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.say("alice", "worker", "@@タスク作成: 一")
        task_id = (await made.call("request_task", "worker", title="一")).result["task_id"]
        change = {"task_id": task_id, "description": "認証機能の改善"}
        refused = await made.call("update_task_from_chat", "worker", **change)
        assert error(refused) == ("task_adjust_marker_required", 403)
        await made.say("alice", "worker", "@@タスク調整: 説明を変更")
        missing = await made.call("update_task_from_chat", "worker", task_id="tsk_x", title="x")
        assert error(missing) == ("task_not_found", 404)
        assert (await made.call("update_task_from_chat", "worker", **change)).error is None
        assert (await found(made, task_id)).description == "認証機能の改善"


async def test_notifying_the_task_session(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        refused = await made.call("notify_task_session", "worker", message="x")
        assert error(refused) == ("task_notify_marker_required", 403)
        await made.say("alice", "worker", "@@タスク通知: レビュー完了しました")
        reply = await made.call("notify_task_session", "worker", message="レビュー完了しました")
        assert reply.error is None
        session = made.session("worker", "task")
        notices = (await made.aipm.call("get_notifications", session)).result["notifications"]
        assert "レビュー完了しました" in [notice["message"] for notice in notices]


async def test_a_block_report_stops_the_running_task(tmp_path: Path) -> None:
    async with team(tmp_path, *PLUGINS, members=()) as made:
        await grow(made)
        await made.say("alice", "worker", "@@タスク作成: 一")
        task_id = (await made.call("request_task", "worker", title="一")).result["task_id"]
        desk = made.aipm.runtime.services.use(TASK_DESK)
        await made.store.write(
            lambda tx: desk.change_status(tx, task_id, "in_progress", actor_id="alice")
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
