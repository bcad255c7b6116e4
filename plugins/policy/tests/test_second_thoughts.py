"""A no that says what one would agree to, two people for one yes, a time of its own for a rule."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from aipm_devkit.testing import TASK, TestRuntime, running
from aipm_policy.plugin import Policy
from aipm_sessions.api import DECISIONS, DIRECTORY, person_session
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.plugin import UiGateway

from aipm_core import (
    Access,
    AnyTool,
    Arguments,
    Call,
    Json,
    Plugin,
    Reply,
    Request,
    hookimpl,
    tool,
)

ASK = {"tool": "push", "decision": "REQUIRE_USER_CONFIRMATION"}


class Pushed(Arguments):
    where: str
    force: bool = False


class Remote(Plugin):
    """A tool that notes what it is told."""

    ran: list[Json]

    def __init__(self, ctx: Any) -> None:
        super().__init__(ctx)
        self.ran = []

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.push, access=Access.SESSION)

    async def push(self, call: Call, args: Pushed) -> Json:
        """Push."""
        self.ran.append(args.model_dump())
        return {}


class House:
    """A project with an agent and people."""

    def __init__(self, aipm: TestRuntime) -> None:
        self.aipm = aipm
        self.store = aipm.runtime.store
        remote: Any = aipm.runtime.manager.get_plugin("remote")
        self.ran: list[Json] = remote.ran

    async def settle(self, people: Iterable[str]) -> None:
        administration = self.aipm.runtime.services.use(ADMINISTRATION)
        for project in ("p", "q"):
            await administration.add_project(project, project, None)
        members = [("agent-a", "p", "ai"), *((name, "p", "human") for name in people)]
        for name, project, kind in (*members, ("eve", "q", "human")):
            about: dict[str, Any] = {"name": name, "kind": kind, "role": "worker", "parent": None}
            await administration.add_agent(name, project_id=project, **about)

    async def asked(self) -> str:
        """Wait for a question; return its id."""
        decisions = self.aipm.runtime.services.use(DECISIONS)

        async def look() -> str | None:
            return next((one.id for one in await decisions.pending(self.store)), None)

        found = await self.store.wait_until(("confirmations",), look, 30)
        assert found is not None
        return found

    async def order(self, who: str, name: str, /, **arguments: Any) -> Reply:
        person = await self.aipm.runtime.services.use(DIRECTORY).agent(self.store, who)
        assert person is not None
        session = person_session(person)
        request = Request(tool=name, arguments=arguments, session=session, audience="ui")
        return await self.aipm.runtime.call(request)

    async def code(self, who: str, name: str, /, **arguments: Any) -> str:
        reply = await self.order(who, name, **arguments)
        return reply.error.code if reply.error else "ok"

    async def yes(self, who: str, question: str, **more: Any) -> str:
        about = {"confirmation_id": question, "approved": True, **more}
        return await self.code(who, "provide_confirmation", **about)

    async def outcomes(self) -> list[tuple[str, str | None]]:
        rows = await self.store.all("select entry from policy_audit order by seq")
        entries = [json.loads(row["entry"]) for row in rows]
        return [(e["outcome"], e.get("human_id")) for e in entries if e["tool"] == "push"]


@asynccontextmanager
async def house(
    *rules: dict[str, Any], people: Iterable[str] = ("ann", "bob")
) -> AsyncGenerator[House]:
    policy = {"rules": list(rules or (ASK,))}
    plugins = (Sessions, UiGateway, Policy, Remote)
    async with running(*plugins, policy=policy, locale="en") as aipm:
        made = House(aipm)
        await made.settle(people)
        yield made


@asynccontextmanager
async def calling(home: House, **arguments: Json) -> AsyncGenerator[asyncio.Task[Reply]]:
    task = asyncio.create_task(home.aipm.call("push", TASK, **arguments))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def refusal(task: asyncio.Task[Reply]) -> tuple[str, str]:
    with anyio.fail_after(30):
        error = (await task).error
    return (error.code, error.message) if error else ("ok", "")


async def test_the_proposed_call_runs_once_without_a_question() -> None:
    async with house() as home:
        async with calling(home, where="main", force=True) as call:
            about = {"confirmation_id": await home.asked(), "reason": "no force"}
            wanted = {"where": "main", "force": False}
            assert await home.code("ann", "propose_instead", **about, arguments=wanted) == "ok"
            code, text = await refusal(call)
            assert code == "confirmation_denied"
            assert '{"force":false,"where":"main"}' in text
            assert "no force" in text
        assert home.ran == []
        async with calling(home, where="main", force=False) as call:
            assert await refusal(call) == ("ok", "")
        assert home.ran == [wanted]
        async with calling(home, where="main", force=False) as call:  # once, and not again
            question = await home.asked()
            assert not call.done()
            assert await home.yes("bob", question) == "ok"
            assert await refusal(call) == ("ok", "")
        done = [("denied", "ann"), ("allowed", "ann"), ("allowed", "bob")]
        assert await home.outcomes() == done


async def test_a_proposal_allows_no_other_call() -> None:
    async with house() as home:
        async with calling(home, where="main", force=True) as call:
            wanted = {"where": "main"}
            about = {"confirmation_id": await home.asked(), "arguments": wanted}
            assert await home.code("eve", "propose_instead", **about) == "confirmation_not_found"
            assert await home.code("ann", "propose_instead", **about) == "ok"
            assert await home.code("bob", "propose_instead", **about) == (
                "confirmation_already_answered"
            )
            assert (await refusal(call))[0] == "confirmation_denied"
        for other in ({"where": "main", "force": True}, {"where": "other"}):
            async with calling(home, **other) as call:
                question = await home.asked()
                no = {"confirmation_id": question, "approved": False}
                assert await home.code("ann", "provide_confirmation", **no) == "ok"
                assert (await refusal(call))[0] == "confirmation_denied"
        assert home.ran == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"where": "main", "force": True}, "proposal_is_the_call"),
        ({"force": True}, "invalid_arguments"),
        ({"where": "main", "unknown": 1}, "invalid_arguments"),
    ],
)
async def test_a_proposal_that_cannot_be_called_is_refused(
    arguments: dict[str, Any], code: str
) -> None:
    async with house() as home, calling(home, where="main", force=True) as call:
        question = await home.asked()
        about = {"confirmation_id": question, "arguments": arguments}
        assert await home.code("ann", "propose_instead", **about) == code
        assert not call.done()  # the question is still open
        assert await home.yes("ann", question) == "ok"
        assert await refusal(call) == ("ok", "")


TWO = {**ASK, "approvers": 2}


async def test_two_people_have_to_agree() -> None:
    async with house(TWO) as home, calling(home, where="main") as call:
        question = await home.asked()
        assert await home.yes("ann", question, scope="always") == "scope_needs_one"
        first = await home.order(
            "ann", "provide_confirmation", confirmation_id=question, approved=True
        )
        assert first.result["waits_for"] == "second_approver"
        assert await home.yes("ann", question) == "second_person_needed"
        assert await home.yes("eve", question) == "confirmation_not_found"
        about = {"confirmation_id": question, "arguments": {"where": "x"}}
        assert await home.code("bob", "propose_instead", **about) == "proposal_needs_one"
        assert (call.done(), home.ran) == (False, [])
        assert await home.yes("bob", question) == "ok"
        assert await refusal(call) == ("ok", "")
        assert len(home.ran) == 1
        assert await home.yes("bob", question) == "confirmation_already_answered"
        told = await home.outcomes()
        assert ("first_yes", "ann") in told
        assert told[-1] == ("allowed", "bob")


async def test_one_no_is_enough_where_two_have_to_agree() -> None:
    async with house(TWO) as home, calling(home, where="main") as call:
        question = await home.asked()
        assert await home.yes("ann", question) == "ok"
        no = {"confirmation_id": question, "approved": False}
        assert await home.code("bob", "provide_confirmation", **no) == "ok"
        assert (await refusal(call))[0] == "confirmation_denied"
        assert home.ran == []


async def test_two_people_cannot_be_one() -> None:
    async with house(TWO, people=("ann",)) as home, calling(home, where="main") as call:
        assert (await refusal(call))[0] == "no_confirmer"


async def test_a_yes_for_longer_does_not_stand_for_two_people() -> None:
    stricter = {**TWO, "arguments": {"where": "main"}}
    async with house(ASK, stricter) as home:
        async with calling(home, where="x") as call:
            assert await home.yes("ann", await home.asked(), scope="always") == "ok"
            assert await refusal(call) == ("ok", "")
        async with calling(home, where="main") as call:
            question = await home.asked()
            assert await home.yes("ann", question) == "ok"
            assert await home.yes("bob", question) == "ok"
            assert await refusal(call) == ("ok", "")


async def test_a_rule_has_its_own_time_and_silence_is_no_denial() -> None:
    quick = {**ASK, "confirmation_seconds": 0.2}
    async with house(quick) as home, calling(home, where="main") as call:
        code, text = await refusal(call)
        assert code == "confirmation_expired"
        assert "Nobody said no" in text
        assert await home.outcomes() == [("expired", None)]
        row = await home.store.one("select id from confirmations")
        assert row is not None
        assert await home.yes("ann", row["id"]) == "confirmation_expired"
        assert home.ran == []
