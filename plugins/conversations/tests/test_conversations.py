"""Two agents talk: who may, how long, and how each side learns that it is over."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_conversations.plugin import Conversations
from aipm_file_chat.plugin import FileChat
from aipm_sessions.api import WORK
from aipm_sessions.testing import Caller, Team, team

NEVER = {"pending_seconds": 1e9, "active_seconds": 1e9, "session_lost_seconds": 1e9}


class ManualClock:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


@asynccontextmanager
async def pair(
    root: Path, watch: ManualClock | None = None, **config: Any
) -> AsyncGenerator[tuple[Team, Caller, Caller]]:
    """Give a chat session of ``ann`` and one of ``bob``; ``cat`` looks on, ``eve`` is elsewhere."""
    settings = {"conversations": config or NEVER}
    if watch is not None:
        settings["sessions"] = {"idle_seconds": 1e9, "hard_seconds": 1e9}
    async with team(
        FileChat, Conversations, root=root, clock=watch or ManualClock(), **settings
    ) as made:
        await made.add("ann", "bob", "cat")
        await made.add_project("other")
        await made.add("eve", project="other")
        yield made, await made.session("ann"), await made.session("bob")


async def start(caller: Caller, partner: str = "bob", **more: Any) -> str:
    arguments = {"participant_agent_id": partner, "initial_message": "りんご", **more}
    return str((await caller.does("start_conversation", **arguments))["conversation_id"])


async def say(caller: Caller, conversation: str, content: str = "ごりら") -> dict[str, Any]:
    return await caller.does(
        "send_conversation_message", conversation_id=conversation, content=content
    )


async def test_a_conversation_from_invitation_to_end(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, ann, bob):
        started = await ann.does(
            "start_conversation",
            participant_agent_id="bob",
            initial_message="りんご",
            purpose="しりとり",
        )
        assert (started["turn"], started["max_turns"], started["state"]) == (1, 20, "pending")
        request = await bob.next_action()
        assert request is not None
        assert request["action"] == "conversation_request"
        assert request["conversation_id"] == started["conversation_id"]
        assert (request["initiator_agent_id"], request["purpose"]) == ("ann", "しりとり")
        read = await bob.does("get_pending_messages")
        (message,) = read["pending_messages"]
        assert message["conversationId"] == started["conversation_id"]
        assert (message["senderId"], message["content"]) == ("ann", "りんご")
        answered = await bob.does(
            "respond_conversation_message",
            conversation_id=started["conversation_id"],
            content="ごりら",
        )
        assert (answered["turn"], answered["state"]) == (2, "active")
        ended = await ann.does("end_conversation", conversation_id=started["conversation_id"])
        assert (ended["state"], ended["ended_by"], ended["end_reason"]) == ("ended", "ann", "end")


async def test_messages_stand_in_both_chat_files_with_their_conversation(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, ann, bob):
        conversation = await start(ann)
        await say(bob, conversation, "ごりら")
    for agent in ("ann", "bob"):
        file = tmp_path / "p" / ".ai-pm" / "agents" / agent / "chat.jsonl"
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert [line["content"] for line in lines] == ["りんご", "ごりら"]
        assert {line["conversationId"] for line in lines} == {conversation}


@pytest.mark.parametrize("reads", [True, False], ids=["reading", "answering"])
async def test_noticing_in_any_way_makes_it_active(tmp_path: Path, reads: bool) -> None:
    async with pair(tmp_path) as (made, ann, bob):
        conversation = await start(ann)
        if reads:
            await bob.does("get_pending_messages")
        else:
            assert (await say(bob, conversation))["state"] == "active"
        assert [row[7] for row in await made.rows("conversations")] == ["active"]
        action = await bob.next_action()
        assert action is None or action["action"] == "get_pending_messages"


async def test_an_invitation_is_offered_to_one_session_only(tmp_path: Path) -> None:
    async with pair(tmp_path) as (made, ann, bob):
        await start(ann)
        second = await made.session("bob")
        first, other = await bob.next_action(), await second.next_action()
        assert first is not None
        assert first["action"] == "conversation_request"
        assert other is not None
        assert other["action"] == "get_pending_messages"


@pytest.mark.parametrize("ender", ["ann", "bob"])
async def test_either_side_may_end_and_the_other_is_told_once(tmp_path: Path, ender: str) -> None:
    async with pair(tmp_path) as (made, ann, bob):
        conversation = await start(ann)
        await say(bob, conversation)
        await ann.does("get_pending_messages")
        await bob.does("get_pending_messages")
        (who, other) = (ann, bob) if ender == "ann" else (bob, ann)
        await who.does("end_conversation", conversation_id=conversation)
        assert await who.next_action() is None
        second = await made.session(other.session.agent_id)
        async with anyio.create_task_group() as both:
            told: list[Any] = []

            async def ask(caller: Caller) -> None:
                told.append(await caller.next_action())

            both.start_soon(ask, other)
            both.start_soon(ask, second)
        (news,) = [found for found in told if found is not None]
        assert news["action"] == "conversation_ended"
        assert (news["conversation_id"], news["ended_by"]) == (conversation, ender)
        assert (news["reason"], news["state"]) == ("end", "ended")
        assert await other.next_action() is None


async def test_the_last_message_of_an_end_is_delivered(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, ann, bob):
        conversation = await start(ann)
        ended = await ann.does(
            "end_conversation", conversation_id=conversation, final_message="またね"
        )
        assert (ended["turn"], ended["state"]) == (2, "ended")
        read = await bob.does("get_pending_messages")
        assert [message["content"] for message in read["pending_messages"]] == ["りんご", "またね"]


async def test_max_turns_ends_it_and_delivers_what_reached_it(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, ann, bob):
        conversation = await start(ann, max_turns=3)
        await say(bob, conversation, "ごりら")
        last = await say(ann, conversation, "らっぱ")
        assert (last["turn"], last["state"], last["end_reason"]) == (3, "ended", "max_turns")
        assert last["warning"] == (
            "【会話終了】最大ターン数（3）に達したため会話を自動終了しました。"
            "必要であれば新しい会話を開始してください。"
        )
        assert (await ann.next_action() or {})["action"] == "get_pending_messages"
        told = await bob.next_action()
        assert told is not None
        assert (told["action"], told["ended_by"]) == ("conversation_ended", "system")
        assert told["reason"] == "max_turns"
        read = await bob.does("get_pending_messages")
        assert [message["content"] for message in read["pending_messages"]] == ["りんご", "らっぱ"]


async def test_a_reminder_comes_every_five_turns(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, ann, bob):
        conversation = await start(ann, max_turns=11)
        reminded = {}
        for turn in range(2, 12):
            reply = await say(bob if turn % 2 == 0 else ann, conversation, f"word {turn}")
            assert reply["turn"] == turn
            if "reminder" in reply:
                reminded[turn] = reply["reminder"]
        assert set(reminded) == {5, 10}
        assert reminded[5] == (
            "【確認】会話の目的は達成されましたか？達成された場合は end_conversation で"
            "会話を終了してください。（5/11ターン）"
        )


async def test_one_open_conversation_per_pair_whatever_the_direction(tmp_path: Path) -> None:
    async with pair(tmp_path) as (_, ann, bob):
        conversation = await start(ann)
        for caller, partner in ((ann, "bob"), (bob, "ann")):
            refused = await caller.refused(
                "start_conversation", participant_agent_id=partner, initial_message="again"
            )
            assert (refused.code, refused.status) == ("conversation_already_exists", 409)
            assert conversation in refused.message
        await ann.does("end_conversation", conversation_id=conversation)
        assert await start(bob, "ann") != conversation


async def test_two_that_start_at_once_get_one_conversation(tmp_path: Path) -> None:
    async with pair(tmp_path) as (made, ann, bob):
        codes: list[str | None] = []

        async def begin(caller: Caller, partner: str) -> None:
            reply = await caller.call(
                "start_conversation", participant_agent_id=partner, initial_message="hi"
            )
            codes.append(reply.error.code if reply.error else None)

        async with anyio.create_task_group() as both:
            both.start_soon(begin, ann, "bob")
            both.start_soon(begin, bob, "ann")
        assert sorted(codes, key=str) == [None, "conversation_already_exists"]
        assert len(await made.rows("conversations")) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "status"),
    [
        ({"participant_agent_id": "ann"}, "cannot_message_self", 400),
        ({"participant_agent_id": "nobody"}, "agent_not_found", 404),
        ({"participant_agent_id": "eve"}, "target_agent_not_in_project", 403),
        ({"initial_message": " \n"}, "content_empty", 400),
        ({"initial_message": "x" * 4001}, "content_too_long", 400),
        ({"max_turns": 1}, "invalid_arguments", 400),
        ({"max_turns": 41}, "invalid_arguments", 400),
        ({"max_turns": "3"}, "invalid_arguments", 400),
        ({"topic": "?"}, "invalid_arguments", 400),
    ],
)
async def test_a_start_that_is_refused(
    tmp_path: Path, arguments: dict[str, Any], code: str, status: int
) -> None:
    async with pair(tmp_path) as (_, ann, _bob):
        asked = {"participant_agent_id": "bob", "initial_message": "りんご", **arguments}
        refused = await ann.refused("start_conversation", **asked)
        assert (refused.code, refused.status) == (code, status)


@pytest.mark.parametrize("tool", ["send_conversation_message", "respond_conversation_message"])
async def test_messages_that_are_refused(tmp_path: Path, tool: str) -> None:
    async with pair(tmp_path) as (made, ann, bob):
        conversation = await start(ann)
        await made.assign("eve", "p")
        cat, eve = await made.session("cat"), await made.session("eve", project="other")

        async def code(caller: Caller, conversation_id: str, content: str = "hi") -> str:
            refused = await caller.refused(tool, conversation_id=conversation_id, content=content)
            return refused.code

        assert await code(cat, conversation) == "not_conversation_participant"
        assert await code(eve, conversation) == "conversation_not_found"
        assert await code(ann, "conv_nothing") == "conversation_not_found"
        assert await code(bob, conversation, "") == "content_empty"
        assert await code(bob, conversation, "x" * 4001) == "content_too_long"
        task = await made.session("ann", "task")
        assert await code(task, conversation) == "chat_session_required"
        await ann.does("end_conversation", conversation_id=conversation)
        refused = await bob.refused(tool, conversation_id=conversation, content="hi")
        assert (refused.code, refused.status) == ("conversation_not_active", 409)
        assert "ann" in refused.message


async def test_ends_that_are_refused(tmp_path: Path) -> None:
    async with pair(tmp_path) as (made, ann, bob):
        conversation = await start(ann)
        cat = await made.session("cat")
        end = "end_conversation"
        assert (await cat.refused(end, conversation_id=conversation)).code == (
            "not_conversation_participant"
        )
        assert (await ann.refused(end, conversation_id="conv_x")).code == "conversation_not_found"
        blank = await bob.refused(end, conversation_id=conversation, final_message=" ")
        assert blank.code == "content_empty"
        await bob.does(end, conversation_id=conversation)
        again = await ann.refused(end, conversation_id=conversation)
        assert again.code == "conversation_not_active"


async def test_an_unanswered_invitation_expires_and_both_are_told(tmp_path: Path) -> None:
    watch = ManualClock()
    config = {**NEVER, "pending_seconds": 300}
    async with pair(tmp_path, watch, **config) as (_, ann, bob):
        conversation = await start(ann)
        watch.time += 301
        for caller in (ann, bob):
            told = await caller.awaited_action()
            assert (told["action"], told["reason"]) == ("conversation_ended", "timeout")
            assert (told["state"], told["ended_by"]) == ("expired", "system")
            assert told["conversation_id"] == conversation


async def test_silence_ends_an_active_conversation_and_talk_keeps_it(tmp_path: Path) -> None:
    watch = ManualClock()
    config = {**NEVER, "active_seconds": 600}
    async with pair(tmp_path, watch, **config) as (_, ann, bob):
        conversation = await start(ann)
        await say(bob, conversation)
        watch.time += 599
        await say(ann, conversation)
        watch.time += 599
        await say(bob, conversation)
        watch.time += 601
        refused = await ann.call(
            "send_conversation_message", conversation_id=conversation, content="too late"
        )
        assert refused.error is not None
        assert refused.error.code == "conversation_not_active"
        await ann.does("get_pending_messages")
        told = await ann.awaited_action()
        assert (told["state"], told["reason"]) == ("ended", "timeout")


async def test_an_overdue_conversation_makes_room_for_a_new_one(tmp_path: Path) -> None:
    watch = ManualClock()
    async with pair(tmp_path, watch, **{**NEVER, "pending_seconds": 300}) as (_, ann, bob):
        first = await start(ann)
        watch.time += 301
        assert await start(bob, "ann") != first


async def test_a_lost_session_ends_it_for_both(tmp_path: Path) -> None:
    watch = ManualClock()
    config = {**NEVER, "session_lost_seconds": 120}
    async with pair(tmp_path, watch, **config) as (made, ann, bob):
        conversation = await start(ann)
        await say(bob, conversation)
        await ann.does("get_pending_messages")
        await bob.ends()
        watch.time += 119
        await say(ann, conversation)
        watch.time += 2
        told = await ann.awaited_action()
        assert (told["action"], told["ended_by"]) == ("conversation_ended", "bob")
        assert told["reason"] == "session_lost"
        back = await made.session("bob")
        assert (await back.awaited_action())["reason"] == "session_lost"


async def test_a_second_chat_session_of_the_agent_keeps_it_open(tmp_path: Path) -> None:
    watch = ManualClock()
    config = {**NEVER, "session_lost_seconds": 0}
    async with pair(tmp_path, watch, **config) as (made, ann, bob):
        conversation = await start(ann)
        await say(bob, conversation)
        second = await made.session("bob")
        task = await made.session("bob", "task")
        await task.ends()
        await bob.ends()
        assert (
            await made.store.all("select 1 from conversation_sides where lost_at is not null") == []
        )
        taken = await second.awaited_action()
        assert taken["action"] == "conversation_request"
        assert (await say(second, conversation))["state"] == "active"


async def test_the_next_chat_session_takes_up_what_the_last_one_left(tmp_path: Path) -> None:
    async with pair(tmp_path) as (made, ann, bob):
        conversation = await start(ann)
        await say(bob, conversation, "ごりら")
        await ann.does("get_pending_messages")
        board = made.services.use(WORK)
        assert await board.needs(made.store) == [
            need for need in await board.needs(made.store) if need.agent_id == "bob"
        ]
        await ann.ends()
        assert "ann" in {need.agent_id for need in await board.needs(made.store)}
        fresh = await made.session("ann")
        resumed = await fresh.next_action()
        assert resumed is not None
        assert (resumed["action"], resumed["conversation_id"]) == (
            "conversation_request",
            conversation,
        )
        said = [(message["senderId"], message["content"]) for message in resumed["messages"]]
        assert said == [("ann", "りんご"), ("bob", "ごりら")]
        assert await fresh.next_action() is None
        assert "ann" not in {need.agent_id for need in await board.needs(made.store)}
        assert (await say(fresh, conversation, "らっぱ"))["turn"] == 3


async def test_the_last_wait_of_an_ended_session_takes_nothing(tmp_path: Path) -> None:
    async with pair(tmp_path) as (made, ann, bob):
        await bob.ends()
        conversation = await start(ann)
        assert (await bob.next_action() or {})["action"] == "get_pending_messages"
        await ann.does("end_conversation", conversation_id=conversation)
        assert (await bob.next_action() or {})["action"] == "get_pending_messages"
        fresh = await made.session("bob")
        assert (await fresh.next_action() or {})["action"] == "conversation_ended"


async def test_conversations_need_chat_and_say_so(tmp_path: Path) -> None:
    from aipm_core import StartupError

    with pytest.raises(StartupError, match="file_chat"):
        async with team(Conversations, root=tmp_path):
            pass


async def test_texts_exist_in_both_languages() -> None:
    from aipm_core.texts import Texts

    japanese = Texts.load("aipm_conversations", "ja")
    assert japanese.keys() == Texts.load("aipm_conversations", "en").keys()
