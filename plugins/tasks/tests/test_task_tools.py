"""Making, listing and moving tasks, and the walls between agents and projects."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from aipm_sessions.api import Instruction, WorkSource

from aipm_core import Plugin, hookimpl

Teams = Callable[..., Any]
SHAPE = [
    *("id", "project_id", "title", "description", "status", "priority", "assignee_id"),
    *("requester_id", "parent_task_id", "approval_status", "created_at", "updated_at"),
]


async def test_a_new_task(team: Teams) -> None:
    async with team() as t:
        session = await t.session()
        made = (await t.result("create_task", session, title="作業"))["task"]
        assert list(made) == SHAPE
        assert made["id"].startswith("tsk_")
        assert (made["status"], made["priority"], made["description"]) == ("backlog", "medium", "")
        assert (made["assignee_id"], made["requester_id"]) == ("worker", "worker")
        assert (made["project_id"], made["approval_status"]) == ("p", "approved")


async def test_the_same_key_makes_one_task(team: Teams) -> None:
    async with team() as t:
        session, lead = await t.session(), await t.session("lead")
        new = {"title": "a", "idempotency_key": "k"}
        first = await t.result("create_task", session, **new)
        assert await t.result("create_task", session, **new) == first
        other = await t.result("create_task", lead, **new)
        assert other["task"]["id"] != first["task"]["id"]
        await t.result("create_task", session, title="a")
        await t.result("create_task", session, title="a")
        assert len(await t.rows("select 1 from tasks")) == 4


@pytest.mark.parametrize(
    "other",
    [
        {"title": "b"},
        {"description": "more"},
        {"priority": "urgent"},
        {"assignee_id": "peer"},
        {"parent_task_id": "tsk_none"},
        {"dependencies": ["tsk_none"]},
    ],
)
async def test_a_used_key_with_other_arguments_is_a_conflict(
    team: Teams, other: dict[str, Any]
) -> None:
    async with team() as t:
        session = await t.session()
        new = {"title": "a", "idempotency_key": "k"}
        first = await t.result("create_task", session, **new)
        reply = await t.call("create_task", session, **{**new, **other})
        assert reply.error is not None
        assert (reply.error.code, reply.error.status) == ("idempotency_conflict", 409)
        assert first["task"]["id"] in reply.error.message
        assert await t.result("create_task", session, **new) == first
        assert len(await t.rows("select 1 from tasks")) == 1


async def test_a_key_from_before_arguments_were_kept_still_finds_its_task(team: Teams) -> None:
    async with team() as t:
        session = await t.session()
        new = {"title": "a", "idempotency_key": "k"}
        first = await t.result("create_task", session, **new)
        await t.store.write(lambda tx: tx.run("update task_keys set digest = null"))
        assert await t.result("create_task", session, **new) == first


@pytest.mark.parametrize(
    ("maker", "assignee", "approval"),
    [("lead", "worker", "approved"), ("worker", "peer", "pending_approval")],
)
async def test_work_for_others_needs_their_superior(
    team: Teams, maker: str, assignee: str, approval: str
) -> None:
    async with team() as t:
        session = await t.session(maker)
        made = await t.result("create_task", session, title="x", assignee_id=assignee)
        assert made["task"]["approval_status"] == approval


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({}, "invalid_arguments"),
        ({"title": " "}, "invalid_arguments"),
        ({"title": "x" * 201}, "invalid_arguments"),
        ({"title": "x", "priority": "asap"}, "invalid_arguments"),
        ({"title": "x", "status": "todo"}, "invalid_arguments"),
        ({"title": "x", "assignee_id": "nobody"}, "agent_not_found"),
        ({"title": "x", "assignee_id": "stranger"}, "target_agent_not_in_project"),
        ({"title": "x", "parent_task_id": "tsk_none"}, "task_not_found"),
        ({"title": "x", "dependencies": ["tsk_none"]}, "task_not_found"),
    ],
)
async def test_tasks_that_cannot_be_made(team: Teams, wrong: dict[str, Any], code: str) -> None:
    async with team() as t:
        session = await t.session()
        assert await t.code("create_task", session, **wrong) == code
        assert await t.rows("select 1 from tasks") == []


async def test_a_blank_title_is_refused_in_the_language_of_the_settings(team: Teams) -> None:
    async with team() as t:
        reply = await t.call("create_task", await t.session(), title=" ")
        assert reply.error is not None
        assert "title: 空白だけにはできません" in reply.error.message


async def test_the_choices_of_an_argument_are_listed_without_english(team: Teams) -> None:
    async with team() as t:
        reply = await t.call("list_tasks", await t.session(), status="gone")
        assert reply.error is not None
        assert "次のいずれかを指定してください: 'backlog', " in reply.error.message
        assert " or " not in reply.error.message


async def test_lists_come_in_pages_and_can_be_narrowed(team: Teams) -> None:
    async with team() as t:
        made = [await t.add(str(n), "todo" if n % 2 else "backlog") for n in range(5)]
        made.append(await t.add("5", assignee_id="peer"))
        chat = await t.session(purpose="chat")

        async def ids(**wanted: Any) -> tuple[list[str], bool]:
            found = await t.result("list_tasks", chat, **wanted)
            return [task["id"] for task in found["tasks"]], found["has_more"]

        assert await ids() == (made, False)
        assert await ids(limit=4) == (made[:4], True)
        assert await ids(limit=4, after=made[3]) == (made[4:], False)
        assert await ids(status="todo") == ([made[1], made[3]], False)
        assert await ids(assignee_id="peer") == ([made[5]], False)
        assert await ids(assignee_id="peer", status="todo") == ([], False)
        assert await t.code("list_tasks", chat, after="tsk_none") == "task_not_found"
        assert await t.code("list_tasks", chat, limit=0) == "invalid_arguments"
        assert await t.code("list_tasks", chat, status="open") == "invalid_arguments"


async def test_another_project_is_another_world(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        stranger = await t.session("stranger", project="q")
        assert await t.bound(stranger) is None
        assert (await t.result("list_tasks", stranger))["tasks"] == []
        assert await t.code("list_tasks", stranger, after=task) == "task_not_found"
        move = {"task_id": task, "status": "blocked"}
        assert await t.code("update_task_status", stranger, **move) == "task_not_found"
        for new in ({"parent_task_id": task}, {"dependencies": [task]}):
            assert await t.code("create_task", stranger, title="x", **new) == "task_not_found"
        chat = await t.session("stranger", "chat", "q")
        change = {"task_id": task, "title": "x"}
        assert await t.code("update_task_from_chat", chat, **change) == "task_not_found"
        assert await t.status(task) == "in_progress"


async def test_who_may_move_a_task(team: Teams) -> None:
    async with team() as t:
        task = await t.add("t", "in_progress")
        below = await t.add("below", "in_progress", parent_task_id=task, assignee_id="peer")
        peer, lead, worker = await t.session("peer"), await t.session("lead"), await t.session()
        move = {"task_id": task, "status": "blocked"}
        assert await t.code("update_task_status", peer, **move) == "not_your_task"
        assert await t.code("create_task", peer, title="x", parent_task_id=task) == "not_your_task"
        assert await t.code("update_task_status", worker, task_id=below, status="todo") is None
        done = await t.result("update_task_status", lead, **move)
        assert done["previous_status"] == "in_progress"
        assert done["task"]["status"] == "blocked"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_task", {"title": "x"}),
        ("update_task_status", {"task_id": "x", "status": "todo"}),
        ("report_completed", {"result": "success"}),
    ],
)
async def test_chat_sessions_do_not_work(team: Teams, tool: str, arguments: dict[str, Any]) -> None:
    async with team() as t:
        chat = await t.session(purpose="chat")
        assert await t.code(tool, chat, **arguments) == "task_session_required"


async def test_task_sessions_do_not_adjust_from_chat(team: Teams) -> None:
    async with team() as t:
        session = await t.session()
        change = {"task_id": "x", "title": "y"}
        assert await t.code("update_task_from_chat", session, **change) == "chat_session_required"
        code = await t.code("notify_task_session", session, message="x")
        assert code == "chat_session_required"


async def test_my_task(team: Teams) -> None:
    async with team() as t:
        session, chat = await t.session(), await t.session(purpose="chat")
        for one in (session, chat):
            assert await t.result("get_my_task", one) == {"task": None}
        task = await t.add("t", "in_progress")
        assert await t.result("get_my_task", session) == {"task": None}
        assert (await t.result("get_my_task", chat))["task"]["id"] == task
        await t.next(session)
        assert (await t.result("get_my_task", session))["task"]["id"] == task


async def test_nothing_to_report(team: Teams) -> None:
    async with team() as t:
        session = await t.session()
        reply = await t.call("report_completed", session, result="success")
        assert reply.error is not None
        assert (reply.error.code, reply.error.status) == ("no_task", 404)
        assert await t.code("report_completed", session, result="done") == "invalid_arguments"
        assert await t.is_live(session)


class Knock:
    """A source of chat work."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.open = False

    def source(self) -> WorkSource:
        return WorkSource(
            name="knock",
            purpose="chat",
            rank=self.rank,
            topics=self.topics,
            look=self.look,
            needs=self.needs,
        )

    def topics(self, session: Any) -> tuple[str, ...]:
        return (f"knock:{session.agent_id}",)

    async def look(self, session: Any) -> dict[str, Any] | None:
        return {"action": f"answer_{self.rank}", "instruction": "開けて"} if self.open else None

    async def needs(self, db: Any) -> list[Any]:
        return []


async def test_chat_sessions_get_what_the_sources_have(team: Teams) -> None:
    late, early = Knock(9), Knock(1)

    class Knocking(Plugin):
        @hookimpl
        def aipm_work_sources(self) -> Iterable[WorkSource]:
            return [late.source(), early.source()]

        @hookimpl
        def aipm_instructions(self) -> Iterable[Instruction]:
            yield Instruction(purpose="chat", text="【チャットコマンド】")

    async with team(Knocking) as t:
        chat, task = await t.session(purpose="chat"), await t.session()
        waiting = await t.next(chat)
        assert waiting["action"] == "wait_for_messages"
        assert waiting["instruction"].endswith("\n\n【チャットコマンド】")
        assert "【チャットコマンド】" not in (await t.next(task))["instruction"]

        async def knock() -> None:
            late.open = True

            async def unit(tx: Any) -> None:
                tx.wake("knock:worker")

            await t.store.write(unit)

        reply = await t.while_waiting(chat, knock)
        assert reply.result["action"] == "answer_9"
        assert reply.result["instruction"] == "開けて\n\n【チャットコマンド】"
        early.open = True
        assert (await t.next(chat))["action"] == "answer_1"
