"""Sending and reading, through the same pipeline an agent's call takes."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from aipm_file_chat.api import CHAT, SYSTEM, Message, MessageObserver, PendingFields
from aipm_file_chat.testing import Team, team
from aipm_notifications.api import INBOX
from aipm_notifications.plugin import Notifications
from aipm_sessions.api import WORK, Instruction

from aipm_core import CallError, Json, Plugin, Reply, Session, Tx, hookimpl
from aipm_core.errors import PluginError
from aipm_core.models import Purpose


def code(reply: Reply) -> tuple[str, int]:
    assert reply.error is not None, reply.result
    return reply.error.code, reply.error.status


async def send(made: Team, target: str, content: str) -> Reply:
    return await made.call("send_message", "agent-a", target_agent_id=target, content=content)


async def stored(made: Team) -> int:
    row = await made.store.one("select count(*) as n from messages")
    return int(row["n"]) if row else -1


async def test_both_files_hold_the_message_when_the_call_returns(tmp_path: Path) -> None:
    async with team(tmp_path, clock=lambda: 1769162400.1234) as made:
        content = '質問です "引用" \\ \t改行\n\u2028\u0085 \u202e\u200b\x1b[2J 👩‍💻'
        reply = await made.call(
            "send_message",
            "agent-a",
            target_agent_id="agent-b",
            content=content,
            related_task_id="tsk_1",
        )
        message_id = reply.result["message_id"]
        assert reply.result == {
            "success": True,
            "message_id": message_id,
            "target_agent_id": "agent-b",
        }
        assert message_id.startswith("msg_")
        received = {
            "id": message_id,
            "senderId": "agent-a",
            "content": content,
            "createdAt": "2026-01-23T10:00:00.123Z",
            "relatedTaskId": "tsk_1",
        }
        sent = {**received, "receiverId": "agent-b"}
        assert made.lines("agent-b") == [received]
        assert made.lines("agent-a") == [sent]
        assert list(made.lines("agent-b")[0]) == list(received)
        assert list(made.lines("agent-a")[0])[:3] == ["id", "senderId", "receiverId"]
        assert "質問です".encode() in made.file("agent-a").read_bytes()


@pytest.mark.parametrize("purpose", ["task", "chat"])
async def test_both_purposes_may_send_without_delegation(tmp_path: Path, purpose: Purpose) -> None:
    async with team(tmp_path) as made:
        session = made.session("agent-a", purpose)
        reply = await made.aipm.call(
            "send_message", session, target_agent_id="agent-b", content="x"
        )
        assert reply.error is None


@pytest.mark.parametrize(
    ("target", "content", "expected"),
    [
        ("agent-b", "あ" * 4001, ("content_too_long", 400)),
        ("agent-a", "あ" * 4001, ("content_too_long", 400)),
        ("agent-b", "", ("content_empty", 400)),
        ("agent-b", " \n\t　", ("content_empty", 400)),
        ("agent-b", "\u200b\u2060\u202e", ("content_empty", 400)),
        ("agent-b", "half \ud800 pair", ("invalid_arguments", 400)),
        ("agent-a", "x", ("cannot_message_self", 400)),
        ("nobody", "x", ("agent_not_found", 404)),
        ("../agent-b", "x", ("agent_not_found", 404)),
        ("agent-b\n", "x", ("agent_not_found", 404)),
        ("outsider", "x", ("target_agent_not_in_project", 403)),
    ],
)
async def test_refusals_store_nothing(
    tmp_path: Path, target: str, content: str, expected: tuple[str, int]
) -> None:
    async with team(tmp_path) as made:
        await made.add_project("other", tmp_path / "other")
        await made.add("outsider", project="other")
        assert code(await send(made, target, content)) == expected
        assert await stored(made) == 0
        assert not made.file("agent-a").exists() or not made.lines("agent-a")


async def test_the_longest_message_counts_code_points(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        for text in ("あ" * 4000, "👍" * 4000, "\x01" * 3999 + "x"):
            await made.say("agent-a", "agent-b", text)
        assert [len(line["content"]) for line in made.lines("agent-b")] == [4000, 4000, 4000]


async def test_without_a_directory_there_is_no_chat(tmp_path: Path) -> None:
    async with team(tmp_path, with_directory=False) as made:
        assert code(await send(made, "agent-b", "x")) == ("working_directory_not_set", 500)
        assert await stored(made) == 0


async def test_reading_needs_a_chat_session(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        session = made.session("agent-a", "task")
        for tool, arguments in (("get_pending_messages", {}), ("respond_chat", {"content": "x"})):
            reply = await made.aipm.call(tool, session, **arguments)
            assert code(reply) == ("chat_session_required", 403)
            assert code(await made.aipm.call(tool, None, **arguments))[1] == 401


async def test_a_key_sends_once(tmp_path: Path) -> None:
    async with team(tmp_path, members=("agent-a", "agent-b", "agent-c")) as made:
        key: Mapping[str, Json] = {"idempotency_key": "k-1"}
        replies: list[str] = []

        async def again() -> None:
            replies.append(await made.say("agent-a", "agent-b", "once", **key))

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(again)
        assert len(set(replies)) == 1
        assert len(made.lines("agent-a")) == len(made.lines("agent-b")) == 1
        other = await made.call(
            "send_message", "agent-a", target_agent_id="agent-b", content="other", **key
        )
        assert code(other) == ("idempotency_conflict", 409)
        assert await made.say("agent-c", "agent-b", "once", **key) not in replies
        assert await stored(made) == 2


async def test_broadcast_reaches_all_or_none(tmp_path: Path) -> None:
    async with team(tmp_path, members=("agent-a", "agent-b", "agent-c", "agent-d")) as made:
        reply = await made.call("broadcast_message", "agent-a", content="all")
        assert reply.result["target_agent_ids"] == ["agent-b", "agent-c", "agent-d"]
        ids = [made.lines(agent)[0]["id"] for agent in reply.result["target_agent_ids"]]
        assert ids == reply.result["message_ids"] == [line["id"] for line in made.lines("agent-a")]
        some = await made.call(
            "broadcast_message", "agent-b", content="x", target_agent_ids=["agent-c", "agent-c"]
        )
        assert some.result["target_agent_ids"] == ["agent-c"]
        before = await stored(made)
        for wrong, expected in (
            (["agent-c", "nobody"], "agent_not_found"),
            (["agent-c", "agent-a"], "cannot_message_self"),
            ([], "invalid_arguments"),
        ):
            reply = await made.call(
                "broadcast_message", "agent-a", content="x", target_agent_ids=wrong
            )
            assert code(reply)[0] == expected
        assert await stored(made) == before


async def test_sixty_messages_arrive_once_and_in_order(tmp_path: Path) -> None:
    """Six senders at once, with a clock that stands still: order cannot come from time."""
    senders = [f"sender-{number}" for number in range(6)]
    async with team(tmp_path, members=("reader", *senders), clock=lambda: 1.0) as made:

        async def send_ten(sender: str) -> None:
            for number in range(10):
                await made.say(sender, "reader", f"{sender} {number}")

        async with anyio.create_task_group() as tasks:
            for sender in senders:
                tasks.start_soon(send_ten, sender)
        in_file = [line["id"] for line in made.lines("reader")]
        delivered: list[str] = []
        more: list[bool] = []
        for limit in (7, 20, 20, 100, 100):
            result = (await made.call("get_pending_messages", "reader", limit=limit)).result
            delivered += [message["id"] for message in result["pending_messages"]]
            more.append(result["has_more"])
        assert delivered == in_file
        assert len(set(delivered)) == 60
        assert more == [True, True, True, False, False]
        contents = [line["content"] for line in made.lines("reader")]
        for sender in senders:
            own = [content for content in contents if content.startswith(sender)]
            assert own == [f"{sender} {number}" for number in range(10)]


async def test_a_message_that_arrives_while_reading_stays_unread(tmp_path: Path) -> None:
    async with team(tmp_path, clock=lambda: 1.0) as made:
        first = await made.say("agent-a", "agent-b", "first")
        read = (await made.call("get_pending_messages", "agent-b")).result
        assert [message["id"] for message in read["pending_messages"]] == [first]
        second = await made.say("agent-a", "agent-b", "in the same millisecond")
        read = (await made.call("get_pending_messages", "agent-b")).result
        assert [message["id"] for message in read["pending_messages"]] == [second]


async def test_pending_messages_say_who_wrote_them(tmp_path: Path) -> None:
    class Standing(Plugin):
        @hookimpl
        def aipm_instructions(self) -> Iterable[Instruction]:
            yield Instruction(purpose="chat", text="標準の指示")

    async with team(tmp_path, Standing) as made:
        await made.add("alice", kind="human")
        chat = made.aipm.runtime.services.use(CHAT)
        await made.say("alice", "agent-b", "I am the system administrator")
        await made.say("agent-a", "agent-b", "hi", related_task_id="tsk_9")
        await made.store.write(
            lambda tx: chat.store(
                tx,
                project_id="p",
                sender_id=SYSTEM,
                receiver_id="agent-b",
                content="restarted",
                conversation_id="cnv_1",
            )
        )
        await chat.write_out()
        result = (await made.call("get_pending_messages", "agent-b")).result
        kinds = [(m["senderId"], m["senderKind"]) for m in result["pending_messages"]]
        assert kinds == [("alice", "human"), ("agent-a", "ai"), (SYSTEM, "system")]
        assert "relatedTaskId" not in result["pending_messages"][0]
        assert result["pending_messages"][1]["relatedTaskId"] == "tsk_9"
        assert result["pending_messages"][2]["conversationId"] == "cnv_1"
        assert result["pending_delegations"] == []
        assert result["instruction"].endswith("標準の指示")
        assert [line["senderId"] for line in made.lines("agent-b")] == ["alice", "agent-a", SYSTEM]
        assert not (tmp_path / "work" / ".ai-pm" / "agents" / SYSTEM).exists()
        [talk] = await chat.of_conversation(made.store, "cnv_1")
        assert talk.content == "restarted"


async def test_long_messages_do_not_make_an_unbearable_reply(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        for _ in range(30):
            await made.say("agent-a", "agent-b", "👍" * 4000)
        seen = 0
        while True:
            result = (await made.call("get_pending_messages", "agent-b", limit=100)).result
            seen += len(result["pending_messages"])
            if not result["has_more"]:
                break
            assert 0 < len(result["pending_messages"]) < 30
        assert seen == 30


async def test_respond_chat_answers_the_sender(tmp_path: Path) -> None:
    async with team(tmp_path, members=("agent-a", "agent-b", "agent-c")) as made:
        nothing = await made.call("respond_chat", "agent-b", content="?")
        assert code(nothing) == ("nothing_to_answer", 404)
        first = await made.say("agent-a", "agent-b", "from a", related_task_id="tsk_1")
        second = await made.say("agent-c", "agent-b", "from c")
        pending = (await made.call("get_pending_messages", "agent-b")).result["pending_messages"]
        assert [message["id"] for message in pending] == [first, second]
        reply = await made.call("respond_chat", "agent-b", content="to the newest")
        assert reply.result["target_agent_id"] == "agent-c"
        assert reply.result["in_reply_to"] == second
        named = await made.call("respond_chat", "agent-b", content="to a", message_id=first)
        assert named.result["target_agent_id"] == "agent-a"
        assert made.lines("agent-a")[-1]["relatedTaskId"] == "tsk_1"
        read = await made.call("respond_chat", "agent-b", content="nothing is unread")
        assert read.result["target_agent_id"] == "agent-c"
        for foreign in (first, "msg_unknown"):
            reply = await made.call("respond_chat", "agent-c", content="x", message_id=foreign)
            assert code(reply) == ("message_not_found", 404)


async def test_unread_messages_are_work_for_ai_agents(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        await made.add("alice", kind="human")
        [source] = made.aipm.runtime.services.use(WORK).sources("chat")
        session = made.session("agent-b")
        assert (source.rank, source.purpose) == (20, "chat")
        assert await source.look(session) is None
        assert await source.needs(made.store) == []

        async def wait() -> None:
            found = await made.store.wait_until(
                source.topics(session), lambda: source.look(session), 30
            )
            assert found is not None
            assert found["action"] == "get_pending_messages"

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            await made.say("agent-a", "agent-b", "wake up")
        await made.say("agent-a", "alice", "people read elsewhere")
        [need] = await source.needs(made.store)
        assert (need.agent_id, need.project_id, need.purpose) == ("agent-b", "p", "chat")
        await made.call("get_pending_messages", "agent-b")
        assert await source.look(session) is None


class Refuser(Plugin):
    """Lets a message fail after everything else about it is written."""

    @hookimpl
    def aipm_message_observers(self) -> Iterable[MessageObserver]:
        yield MessageObserver(name="refuser", stored=self.stored)

    async def stored(self, tx: Tx, message: Message) -> None:
        if message.content == "refuse me":
            raise CallError("no", code="refused_by_observer", status=409)


async def test_message_notification_and_files_are_one(tmp_path: Path) -> None:
    async with team(tmp_path, Notifications, Refuser) as made:
        inbox = made.aipm.runtime.services.use(INBOX)
        await made.say("agent-a", "agent-b", "secret text")
        [notice] = (await made.call("get_notifications", "agent-b")).result["notifications"]
        assert notice["type"] == "new_message"
        assert "secret text" not in str(notice)
        task = made.session("agent-b", "task")
        assert (await made.aipm.call("get_notifications", task)).result["notifications"] == []
        assert code(await send(made, "agent-b", "refuse me")) == ("refused_by_observer", 409)
        assert await stored(made) == 1
        assert len(made.lines("agent-a")) == len(made.lines("agent-b")) == 1
        assert await inbox.unread(made.store, "agent-b", "p") == 0


class Extra(Plugin):
    """Adds to the reply."""

    @hookimpl
    def aipm_pending_fields(self) -> Iterable[PendingFields]:
        yield PendingFields(name="extra", fields=self.fields)

    async def fields(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        return {"pending_delegations": [{"delegation_id": f"dlg_{session.agent_id}"}]}


async def test_another_plugin_adds_to_the_reply(tmp_path: Path) -> None:
    async with team(tmp_path, Extra) as made:
        result = (await made.call("get_pending_messages", "agent-b")).result
        assert result["pending_delegations"] == [{"delegation_id": "dlg_agent-b"}]
        assert result["pending_messages"] == []


class Double(Extra):
    """Takes the name of another."""


async def test_a_name_of_another_plugin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"plugin 'extra': aipm_pending_fields: 'extra' is given"):
        async with team(tmp_path, Double, Extra):
            pass

    class Rude(Refuser):
        """Takes the name of another observer."""

    with pytest.raises(PluginError, match=r"plugin 'rude': aipm_message_observers: 'refuser' is"):
        async with team(tmp_path, Refuser, Rude):
            pass


async def test_another_projects_messages_are_not_seen(tmp_path: Path) -> None:
    async with team(tmp_path) as made:
        await made.say("agent-a", "agent-b", "for p")
        elsewhere = replace(made.session("agent-b"), project_id="other")
        result = (await made.aipm.call("get_pending_messages", elsewhere)).result
        assert result["pending_messages"] == []


async def test_a_cancelled_call_leaves_no_half_message(tmp_path: Path) -> None:
    """Whatever had been stored when the caller went away is in both files in the end."""
    async with team(tmp_path) as made:
        for moment in range(12):
            with anyio.CancelScope() as scope:

                async def give_up(steps: int = moment, scope: anyio.CancelScope = scope) -> None:
                    for _ in range(steps):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()

                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(give_up)
                    await made.say("agent-a", "agent-b", f"cancelled after {moment}")
        await made.say("agent-a", "agent-b", "last")
        rows = await made.store.all("select id from messages order by seq")
        ids = [row["id"] for row in rows]
        assert [line["id"] for line in made.lines("agent-a")] == ids
        assert [line["id"] for line in made.lines("agent-b")] == ids
