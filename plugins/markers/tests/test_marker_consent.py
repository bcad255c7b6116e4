"""Nobody is asked to confirm a call that could not run for want of a marker."""

from pathlib import Path
from typing import Any

import anyio
from aipm_file_chat.testing import Team, team
from aipm_markers.plugin import Markers
from aipm_notifications.plugin import Notifications
from aipm_policy.plugin import Policy
from aipm_sessions.api import DECISIONS
from aipm_tasks.plugin import Tasks

ASK: dict[str, Any] = {"tool": "request_task", "decision": "REQUIRE_USER_CONFIRMATION"}


async def questions(made: Team) -> int:
    row = await made.store.one("select count(*) as n from confirmations")
    assert row is not None
    return int(row["n"])


async def test_a_call_without_its_marker_asks_nobody(tmp_path: Path) -> None:
    plugins = (Tasks, Markers, Notifications, Policy)
    async with team(tmp_path, *plugins, policy={"rules": [ASK]}) as made:
        await made.add("ann", kind="human")
        await made.tell("ann", "agent-b", "no marker in this")
        with anyio.fail_after(10):
            reply = await made.call("request_task", "agent-b", title="t")
        assert reply.error is not None
        assert reply.error.code == "task_request_marker_required"
        assert await questions(made) == 0


async def test_a_marker_that_was_spent_while_a_person_thought_does_not_count(
    tmp_path: Path,
) -> None:
    plugins = (Tasks, Markers, Notifications, Policy)
    async with team(tmp_path, *plugins, policy={"rules": [ASK]}) as made:
        await made.add("ann", kind="human")
        await made.tell("ann", "agent-b", "@@タスク作成: 画面")
        replies: list[Any] = []

        async def call() -> None:
            replies.append(await made.call("request_task", "agent-b", title="t"))

        async def asked() -> bool | None:
            return await questions(made) == 1 or None

        with anyio.fail_after(20):
            async with anyio.create_task_group() as calls:
                calls.start_soon(call)
                assert await made.store.wait_until(("confirmations",), asked, 10)
                await made.tell("ann", "agent-b", "forget it")
                decisions = made.aipm.runtime.services.use(DECISIONS)
                (question,) = await decisions.pending(made.store)
                await decisions.answer(question.id, approved=True, by="ann")
        assert replies[0].error is not None
        assert replies[0].error.code == "task_request_marker_required"
        assert await made.store.all("select id from tasks") == []
