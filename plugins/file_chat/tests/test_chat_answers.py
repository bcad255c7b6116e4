"""``respond_chat``: an answer goes to somebody whose words this session has read."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from aipm_file_chat.api import CHAT
from aipm_file_chat.testing import Team, team

from aipm_core import Reply, Session, Tx

MEMBERS = ("agent-a", "anna", "evil")


def code(reply: Reply) -> tuple[str, int]:
    assert reply.error is not None, reply.result
    return reply.error.code, reply.error.status


async def pending(made: Team, session: Session, **limit: int) -> list[str]:
    reply = await made.aipm.call("get_pending_messages", session, **limit)
    return [message["id"] for message in reply.result["pending_messages"]]


async def answer(made: Team, session: Session, **named: Any) -> Reply:
    return await made.aipm.call("respond_chat", session, content="the password", **named)


def another(made: Team) -> Session:
    return replace(made.session("agent-a"), id="another session of agent-a")


async def test_a_message_nobody_has_read_is_neither_answered_nor_lost(tmp_path: Path) -> None:
    async with team(tmp_path, members=MEMBERS) as made:
        me = made.session("agent-a")
        asked = await made.say("anna", "agent-a", "what is the password?")
        assert await pending(made, me) == [asked]
        unseen = await made.say("evil", "agent-a", "hello")
        reply = await answer(made, me)
        assert (reply.result["target_agent_id"], reply.result["in_reply_to"]) == ("anna", asked)
        assert await pending(made, me) == [unseen]
        assert (await answer(made, me)).result["target_agent_id"] == "evil"


async def test_a_session_that_was_shown_nothing_is_told_to_read_first(tmp_path: Path) -> None:
    async with team(tmp_path, members=MEMBERS, locale="en") as made:
        me = made.session("agent-a")
        unseen = await made.say("evil", "agent-a", "hello")
        for reply in (await answer(made, me), await answer(made, me, message_id=unseen)):
            assert reply.error is not None
            assert "get_pending_messages" in reply.error.message
        assert code(await answer(made, me)) == ("nothing_to_answer", 404)
        assert code(await answer(made, me, message_id=unseen)) == ("message_not_found", 404)
        assert len(made.lines("agent-a")) == 1
        assert await pending(made, me) == [unseen]
        assert (await answer(made, me, message_id=unseen)).error is None


async def test_what_another_session_of_the_agent_read_is_answered_by_its_id(
    tmp_path: Path,
) -> None:
    async with team(tmp_path, members=MEMBERS) as made:
        me, other = made.session("agent-a"), another(made)
        mine = await made.say("anna", "agent-a", "for the one")
        assert await pending(made, me) == [mine]
        assert code(await answer(made, other)) == ("nothing_to_answer", 404)
        theirs = await made.say("evil", "agent-a", "for the other")
        assert await pending(made, other) == [theirs]
        assert (await answer(made, me)).result["in_reply_to"] == mine
        assert (await answer(made, other)).result["in_reply_to"] == theirs
        assert (await answer(made, me, message_id=theirs)).result["in_reply_to"] == theirs


async def test_of_several_pages_the_newest_message_that_was_shown_counts(tmp_path: Path) -> None:
    async with team(tmp_path, members=MEMBERS) as made:
        me = made.session("agent-a")
        sent = [await made.say("anna", "agent-a", str(number)) for number in range(3)]
        for message in sent:
            assert await pending(made, me, limit=1) == [message]
            assert (await answer(made, me)).result["in_reply_to"] == message
        assert await pending(made, me) == []
        assert (await answer(made, me)).result["in_reply_to"] == sent[-1]


async def test_a_restart_forgets_nothing_of_it(tmp_path: Path) -> None:
    async with team(tmp_path, members=MEMBERS) as made:
        asked = await made.say("anna", "agent-a", "before")
        assert await pending(made, made.session("agent-a")) == [asked]
        await made.say("evil", "agent-a", "unseen")
    async with team(tmp_path, members=MEMBERS) as made:
        reply = await answer(made, made.session("agent-a"))
        assert reply.result["in_reply_to"] == asked


async def test_only_the_latest_sessions_of_an_agent_are_remembered(tmp_path: Path) -> None:
    """Ended sessions leave no ever-growing trace; the others of the project lose nothing."""
    async with team(tmp_path, members=MEMBERS) as made:
        chat = made.aipm.runtime.services.use(CHAT)
        neighbour = made.session("anna")
        await made.say("evil", "anna", "hello")
        await pending(made, neighbour)
        sessions = [replace(made.session("agent-a"), id=f"s-{number}") for number in range(103)]
        for session in sessions:
            await made.say("anna", "agent-a", f"to {session.id}")
            await pending(made, session)
        kept = [s.id for s in sessions if await chat.newest_delivered(made.store, s) is not None]
        assert kept == [session.id for session in sessions[3:]]
        assert await chat.newest_delivered(made.store, neighbour) is not None


async def test_what_is_forgotten_is_counted_by_agent_and_project(tmp_path: Path) -> None:
    async with team(tmp_path, members=MEMBERS) as made:

        async def others(tx: Tx) -> None:
            rows = [
                ("s-q", "q", "agent-a", 0),
                *((f"n-{n}", "p", "anna", 9000 + n) for n in range(100)),
            ]
            for row in rows:
                await tx.run("insert into chat_deliveries values (?, ?, ?, ?)", *row)

        await made.store.write(others)
        sessions = [replace(made.session("agent-a"), id=f"s-{number}") for number in range(101)]
        for session in sessions:
            await made.say("anna", "agent-a", f"to {session.id}")
            await pending(made, session)
        kept = await made.store.all("select session_id from chat_deliveries order by seq")
        assert [row["session_id"] for row in kept] == [
            "s-q",
            *(session.id for session in sessions[1:]),
            *(f"n-{number}" for number in range(100)),
        ]
