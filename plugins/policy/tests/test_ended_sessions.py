"""A call that waits for a person ends with its session: it does not run, its question is gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from aipm_devkit.testing import TestRuntime, running
from aipm_mcp_transport.api import Elicited, Question
from aipm_policy.plugin import Policy
from aipm_sessions.api import DECISIONS, DIRECTORY, SESSIONS
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.api import UI_SESSIONS
from aipm_ui_gateway.plugin import UiGateway

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Call,
    CallError,
    Json,
    Plugin,
    PluginContext,
    Reply,
    Request,
    Session,
    hookimpl,
    tool,
)

ASK = {"rules": [{"tool": "ring", "decision": "REQUIRE_USER_CONFIRMATION"}]}


class Bell(Plugin):
    """A tool that counts."""

    def __init__(self, ctx: PluginContext) -> None:
        super().__init__(ctx)
        self.rung = 0

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.ring, access=Access.SESSION)

    async def ring(self, call: Call, args: Arguments) -> Json:
        """Count."""
        self.rung += 1
        return {"rung": self.rung}


class Watch:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


class House:
    """A runtime with one agent and one person in it."""

    def __init__(self, aipm: TestRuntime, watch: Watch) -> None:
        self.runtime = aipm.runtime
        self.store = aipm.runtime.store
        self.services = aipm.runtime.services
        self.administration = self.services.use(ADMINISTRATION)
        self.sessions = self.services.use(SESSIONS)
        self.watch = watch

    async def settle(self) -> None:
        await self.administration.add_project("p", "p", None)
        common: dict[str, Any] = {"project_id": "p", "role": "worker", "parent": None}
        await self.administration.add_agent("bot", name="bot", kind="ai", **common)
        await self.administration.add_agent("ann", name="ann", kind="human", **common)

    async def session(self) -> tuple[Session, str]:
        agent = await self.services.use(DIRECTORY).agent(self.store, "bot")
        assert agent is not None
        return await self.store.write(lambda tx: self.sessions.open(tx, agent, "p", "task"))

    @asynccontextmanager
    async def calling(self, **request: Any) -> AsyncGenerator[asyncio.Task[Reply]]:
        task = asyncio.create_task(self.runtime.call(Request(tool="ring", **request)))
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def asked(self) -> str:
        """Wait until one question is open."""

        async def look() -> str | None:
            waiting = await self.services.use(DECISIONS).pending(self.store)
            return waiting[0].id if waiting else None

        found = await self.store.wait_until(("confirmations",), look, 10)
        assert found is not None
        return found

    async def check_gone(self, question: str, session_id: str) -> None:
        """See that the question is withdrawn, that people are told, and that it is on record."""
        row = await self.store.one("select status from confirmations where id = ?", question)
        assert row is not None
        assert row["status"] == "cancelled"
        events = await self.store.all(
            "select payload from events where stream = ? and type = 'onConfirmationResolved'",
            session_id,
        )
        assert [json.loads(e["payload"])["status"] for e in events] == ["cancelled"]
        entries = await self.store.all("select entry from policy_audit order by seq")
        told = [json.loads(e["entry"]) for e in entries]
        about = [e for e in told if e.get("confirmation_id") == question]
        assert [(e["outcome"], e["human_decision"]) for e in about] == [("cancelled", "cancelled")]
        with pytest.raises(CallError) as late:
            await self.services.use(DECISIONS).answer(question, approved=True, by="ann")
        assert late.value.code == "confirmation_already_answered"


@asynccontextmanager
async def house(**settings: Any) -> AsyncGenerator[House]:
    watch = Watch()
    chosen = {"policy": ASK, **settings}
    async with running(Sessions, UiGateway, Policy, Bell, clock=watch, **chosen) as aipm:
        made = House(aipm, watch)
        await made.settle()
        yield made


async def ended_answer(task: asyncio.Task[Reply]) -> None:
    with anyio.fail_after(10):
        reply = await task
    assert reply.error is not None, reply
    assert (reply.error.code, reply.error.status) == ("session_invalid", 401)


async def rekey(home: House, session: Session, token: str) -> None:
    await home.administration.rekey("bot")


async def logout(home: House, session: Session, token: str) -> None:
    reply = await home.runtime.call(Request(tool="logout", credential=token))
    assert reply.result == {"success": True}


async def complete(home: House, session: Session, token: str) -> None:
    await home.store.write(lambda tx: home.sessions.close(tx, session.id, "completed"))


async def expire(home: House, session: Session, token: str) -> None:
    await home.store.write(lambda tx: home.sessions.close(tx, session.id, "expired"))


Way = Callable[[House, Session, str], Awaitable[None]]


@pytest.mark.parametrize("way", [rekey, logout, complete, expire])
async def test_a_call_that_waits_ends_with_its_session(way: Way) -> None:
    async with house() as home:
        session, token = await home.session()
        async with home.calling(credential=token) as call:
            question = await home.asked()
            await way(home, session, token)
            await home.check_gone(question, session.id)
            await ended_answer(call)
        row = await home.store.one("select count(*) as n from confirmations")
        assert row is not None
        assert row["n"] == 1


async def test_other_sessions_of_the_agent_keep_their_questions() -> None:
    async with house() as home:
        (mine, token), (_, other) = await home.session(), await home.session()
        async with home.calling(credential=other) as stays:
            kept = await home.asked()
            async with home.calling(credential=token):
                await logout(home, mine, token)
            assert await home.asked() == kept
            await home.services.use(DECISIONS).answer(kept, approved=True, by="ann")
            assert (await stays).result == {"rung": 1}


async def test_a_session_that_ran_out_unnoticed_runs_nothing() -> None:
    """The sweeper has not been there yet when the answer comes."""
    long = {"confirmation_seconds": 80_000}
    async with house(policy={**ASK, **long}, sessions={"idle_seconds": 40_000}) as home:
        session, token = await home.session()
        async with home.calling(credential=token) as call:
            question = await home.asked()
            home.watch.time += 40_001
            await home.services.use(DECISIONS).answer(question, approved=True, by="ann")
            await ended_answer(call)
        await home.store.write(lambda tx: home.sessions.close(tx, session.id, "expired"))
        row = await home.store.one("select used_at from confirmations where id = ?", question)
        assert row is not None
        entries = await home.store.all("select entry from policy_audit")
        outcomes = [json.loads(e["entry"])["outcome"] for e in entries]
        assert "allowed" not in outcomes


async def test_an_approval_that_came_before_the_end_is_not_used_after_it() -> None:
    async with house() as home:
        session, token = await home.session()
        async with home.calling(credential=token) as call:
            question = await home.asked()
            home.runtime.engine.end_waits()  # as SIGTERM does: the question stays open
            stopped = await call
            assert stopped.error is not None
            assert stopped.error.code == "server_stopping"
        await home.services.use(DECISIONS).answer(question, approved=True, by="ann")
        await logout(home, session, token)
        row = await home.store.one("select used_at from confirmations where id = ?", question)
        assert row is not None
        assert row["used_at"] is not None
        rows = await home.store.all("select entry from policy_audit order by seq")
        entries = [json.loads(row["entry"]) for row in rows]
        (last,) = [e for e in entries if e.get("confirmation_id") == question]
        assert (last["outcome"], last["human_id"]) == ("cancelled", "ann")
        assert last["rule"] == "the session ended: logout"


async def test_an_approval_of_another_session_stays_good() -> None:
    async with house() as home:
        (mine, token), (theirs, other) = await home.session(), await home.session()
        decisions = home.services.use(DECISIONS)

        async def both() -> list[str] | None:
            waiting = await decisions.pending(home.store)
            return [one.id for one in waiting] if len(waiting) == 2 else None

        async with home.calling(credential=token) as one:
            await home.asked()
            async with home.calling(credential=other) as two:
                questions = await home.store.wait_until(("confirmations",), both, 10)
                assert questions is not None
                home.runtime.engine.end_waits()
                await asyncio.gather(one, two)
        for question in questions:
            await decisions.answer(question, approved=True, by="ann")
        await logout(home, mine, token)
        rows = await home.store.all("select session_id from confirmations where used_at is null")
        assert [row["session_id"] for row in rows] == [theirs.id]


async def test_a_call_of_a_user_interface_ends_with_its_session() -> None:
    async with house() as home:
        ann = await home.services.use(DIRECTORY).agent(home.store, "ann")
        assert ann is not None
        sessions = home.services.use(UI_SESSIONS)
        opened = await home.store.write(lambda tx: sessions.open(tx, ann, "p", "bot"))
        caller = Session(id=opened.id, agent_id="bot", project_id="p", purpose="chat")
        async with home.calling(session=caller, audience="in_process") as call:
            question = await home.asked()
            await home.store.write(lambda tx: sessions.close(tx, opened.id))
            await home.check_gone(question, opened.id)
            await ended_answer(call)
        async with home.calling(session=caller, audience="in_process") as late:
            await ended_answer(late)


class Client:
    """A client whose user thinks for ever."""

    state: str | None = None

    def __init__(self) -> None:
        self.asked = anyio.Event()
        self.left = anyio.Event()

    async def ask(self, question: Question) -> Elicited:
        self.asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.left.set()
        raise AssertionError


async def test_a_question_at_the_client_goes_with_the_session() -> None:
    (rule,) = ASK["rules"]
    settings = {"elicitation": True, "rules": [{**rule, "level": "INFO", "elicitation": True}]}
    async with house(policy=settings) as home:
        session, token = await home.session()
        client = Client()
        async with home.calling(credential=token, elicit=client) as call:
            question = await home.asked()
            await client.asked.wait()
            await home.administration.rekey("bot")
            await ended_answer(call)
            await client.left.wait()
        await home.check_gone(question, session.id)


async def test_who_has_reported_completion_may_still_be_let_out() -> None:
    everything = {"rules": [{"tool": "*", "decision": "REQUIRE_USER_CONFIRMATION"}]}
    async with house(policy=everything) as home:
        session, token = await home.session()
        await complete(home, session, token)
        leaving = asyncio.create_task(home.runtime.call(Request(tool="logout", credential=token)))
        question = await home.asked()
        await home.services.use(DECISIONS).answer(question, approved=True, by="ann")
        with anyio.fail_after(10):
            assert (await leaving).result == {"success": True}
