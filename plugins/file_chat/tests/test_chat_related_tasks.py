"""The task a message names is one of its project; without tasks it at least looks like one."""

from pathlib import Path
from typing import Any

import pytest
from aipm_file_chat.plugin import PEOPLES_CHAT
from aipm_file_chat.testing import Team, team
from aipm_tasks.api import TASKS, NewTask, Task
from aipm_tasks.plugin import Tasks

from aipm_core import CallError, Reply

MISFORMED = ["", " ", "any text at all", "../tsk_1", "tsk_1\n", "tsk_1;", "タスク", "x" * 65]


def code(reply: Reply) -> tuple[str, int]:
    assert reply.error is not None, reply.result
    return reply.error.code, reply.error.status


async def sent(made: Team, related: Any) -> Reply:
    return await made.call(
        "send_message", "agent-a", target_agent_id="agent-b", content="hi", related_task_id=related
    )


async def stored(made: Team) -> int:
    row = await made.store.one("select count(*) as n from messages")
    return int(row["n"]) if row else -1


async def task_in(made: Team, project: str) -> Task:
    new = NewTask(project_id=project, title="work", actor_id="operator")
    return await made.aipm.runtime.services.use(TASKS).add(new)


@pytest.mark.parametrize("plugins", [(), (Tasks,)], ids=["alone", "with tasks"])
async def test_what_cannot_be_an_id_is_refused(tmp_path: Path, plugins: Any) -> None:
    async with team(tmp_path, *plugins) as made:
        for related in MISFORMED:
            assert code(await sent(made, related)) == ("invalid_arguments", 400), related
        assert await stored(made) == 0


async def test_a_message_names_a_task_of_its_project(tmp_path: Path) -> None:
    async with team(tmp_path, Tasks) as made:
        await made.add("alice", kind="human")
        await made.add_project("other", tmp_path / "other")
        here, elsewhere = await task_in(made, "p"), await task_in(made, "other")
        people = made.aipm.runtime.services.use(PEOPLES_CHAT)
        for unknown in ("tsk_none", elsewhere.id):
            assert code(await sent(made, unknown)) == ("task_not_found", 404)
            with pytest.raises(CallError) as refused:
                await people.say("alice", "p", "agent-b", "hi", related_task_id=unknown)
            assert (refused.value.code, refused.value.status) == ("task_not_found", 404)
        assert await stored(made) == 0
        assert (await sent(made, here.id)).error is None
        said = await people.say("alice", "p", "agent-b", "hi", related_task_id=here.id)
        assert said["message"]["relatedTaskId"] == here.id


async def test_an_answer_to_an_old_message_is_not_held_up_by_what_it_names(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        await made.tell("agent-b", "agent-a", "hi", related_task_id="gone")
    async with team(tmp_path, Tasks) as made:
        assert (await made.call("respond_chat", "agent-a", content="hello")).error is None
        assert made.lines("agent-b")[-1]["relatedTaskId"] == "gone"
