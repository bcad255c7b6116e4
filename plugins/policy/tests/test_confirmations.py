"""Questions to people: durable, bound to one call, answered once, by the right people."""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_devkit.testing import TASK, TestRuntime, running
from aipm_mcp_transport.api import Elicited, Question
from aipm_policy.api import CONFIRMATIONS, Confirmation, ConfirmationObserver
from aipm_policy.confirmations import SqlConfirmations
from aipm_policy.plugin import GRANTS, Policy
from aipm_sessions.api import DECISIONS, DIRECTORY, Agent
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.api import UI_PORT
from aipm_ui_gateway.plugin import UiGateway

from aipm_core import (
    Access,
    AnyTool,
    Call,
    CallError,
    Event,
    Json,
    Plugin,
    PluginContext,
    Reply,
    Request,
    ServiceKey,
    Session,
    Tool,
    Tx,
    hookimpl,
)
from aipm_core.plugin import PluginClass

ASK = {"rules": [{"tool": "*", "decision": "REQUIRE_USER_CONFIRMATION"}]}
RUNG = ServiceKey[list[Json]]("bell.rung")
OTHER = Session(id="s-other", agent_id="agent-b", project_id="p", purpose="task")


class Bell(Plugin):
    """A tool that counts."""

    names = ("ring", "smash", "knock")
    provides = (RUNG,)

    def __init__(self, ctx: PluginContext) -> None:
        super().__init__(ctx)
        self.rung: list[Json] = []
        ctx.services.provide(RUNG, self.rung)

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        schema = {"properties": {"times": {"type": "integer"}, "how": {"type": "object"}}}
        for name in self.names:
            yield Tool(
                name=name,
                run=self._ring,
                access=Access.ANYONE if name == "knock" else Access.SESSION,
                arguments=schema,
                description="Count.",
                destructive=name == "smash",
            )

    async def _ring(self, call: Any, args: Any) -> Json:
        self.rung.append(dict(args))
        return {"rung": len(self.rung)}


class House:
    """A runtime with people in it."""

    def __init__(self, aipm: TestRuntime) -> None:
        self.aipm = aipm
        self.store = aipm.runtime.store
        self.decisions = aipm.runtime.services.use(DECISIONS)
        self.rung = aipm.runtime.services.use(RUNG)

    async def settle(self) -> None:
        administration = self.aipm.runtime.services.use(ADMINISTRATION)
        for project in ("p", "q"):
            await administration.add_project(project, project, None)
        for name, project, kind in (
            ("agent-a", "p", "ai"),
            ("ann", "p", "human"),
            ("bob", "p", "human"),
            ("eve", "q", "human"),
        ):
            await administration.add_agent(
                name,
                project_id=project,
                name=name,
                kind=kind,  # type: ignore[arg-type]
                role="worker",
                parent=None,
            )

    async def person(self, name: str) -> Agent:
        directory = self.aipm.runtime.services.use(DIRECTORY)
        found = await directory.agent(self.store, name)
        assert found is not None
        return found

    async def asked(self, count: int = 1) -> list[str]:
        """Wait until so many questions are open; return their ids."""

        async def look() -> list[str] | None:
            ids = [d.id for d in await self.decisions.pending(self.store)]
            return ids if len(ids) >= count else None

        found = await self.store.wait_until(("confirmations",), look, 10)
        assert found is not None
        return found

    async def answer(
        self, who: str, confirmation: str, *, approved: bool = True, **more: Any
    ) -> dict[str, Any]:
        """Answer as a user interface does."""
        port = self.aipm.runtime.services.use(UI_PORT)
        payload = {"confirmationId": confirmation, "approved": approved, **more}
        frame = {"id": secrets.token_hex(8), "type": "provideConfirmation", "payload": payload}
        async with port.connect(await self.person(who)) as ui:
            return dict(await ui.command(frame))

    async def events(self, session: str = TASK.id) -> list[tuple[str, dict[str, Any]]]:
        rows = await self.store.all("select * from events where stream = ? order by seq", session)
        return [(row["type"], json.loads(row["payload"])) for row in rows]

    async def outcomes(self) -> list[tuple[str, str | None]]:
        rows = await self.store.all("select entry from policy_audit order by seq")
        entries = [json.loads(row["entry"]) for row in rows]
        return [(e["outcome"], e.get("human_id")) for e in entries]


@asynccontextmanager
async def house(
    data_dir: Path | None = None, *more: PluginClass, empty: bool = True, **settings: Any
) -> AsyncGenerator[House]:
    chosen, plugins = {"policy": ASK, **settings}, (Sessions, UiGateway, Policy, Bell, *more)
    async with running(*plugins, data_dir=data_dir, **chosen) as aipm:
        made = House(aipm)
        if empty:
            await made.settle()
        yield made


class Calling:
    """A call under way."""

    def __init__(self, task: asyncio.Task[Reply]) -> None:
        self.task = task

    async def code(self) -> str:
        with anyio.fail_after(10):
            reply = await self.task
        return reply.error.code if reply.error else "ok"


@asynccontextmanager
async def calling(
    home: House, tool: str = "ring", session: Session = TASK, **args: Json
) -> AsyncGenerator[Calling]:
    task = asyncio.create_task(home.aipm.call(tool, session, **args))
    try:
        yield Calling(task)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_yes_runs_the_call_once_and_tells_the_session() -> None:
    async with house() as home, calling(home, times=2, session_token="s-task") as call:
        (question,) = await home.asked()
        assert home.rung == []
        assert (await home.answer("ann", question))["type"] == "ack"
        assert await call.code() == "ok"
        events = await home.events()
        assert home.rung == [{"times": 2}]
        assert await home.outcomes() == [("allowed", "ann")]
    (asked, request), (resolved, answer) = events
    assert asked == "onToolCallRequest"
    assert request["confirmationId"] == question
    assert request["args"] == {"times": 2}
    assert request["security_warning"]["level"] == "WARN"
    assert request["expiresAt"].endswith("Z")
    assert (resolved, answer["status"], answer["answeredBy"]) == (
        "onConfirmationResolved",
        "approved",
        "ann",
    )


async def test_observers_hear_what_they_asked_for_in_the_same_transaction() -> None:
    class Diary(Plugin):
        @hookimpl
        def aipm_confirmation_observers(self) -> Iterable[ConfirmationObserver]:
            yield ConfirmationObserver(name="deaf")
            yield ConfirmationObserver(name="diary", asked=self.write, resolved=self.write)

        async def write(self, tx: Tx, confirmation: Confirmation) -> None:
            event = Event(type=f"noted {confirmation.status}", payload={}, session_id="diary")
            await self.ctx.events.record(tx, event)

    async with house(None, Diary) as home, calling(home) as call:
        (question,) = await home.asked()
        assert [kind for kind, _ in await home.events("diary")] == ["noted pending"]
        await home.answer("ann", question, approved=False)
        assert await call.code() == "confirmation_denied"
        told = [kind for kind, _ in await home.events("diary")]
    assert told == ["noted pending", "noted denied"]


async def test_a_no_is_a_result_of_its_own_and_carries_the_reason() -> None:
    async with house() as home, calling(home) as call:
        (question,) = await home.asked()
        await home.answer("ann", question, approved=False, reason="夜だから")
        reply = await call.task
        assert home.rung == []
        assert await home.outcomes() == [("denied", "ann")]
    assert reply.error is not None
    assert (reply.error.code, reply.error.status) == ("confirmation_denied", 403)
    assert "夜だから" in reply.error.message


async def test_silence_denies_and_a_late_answer_has_no_effect() -> None:
    async with house(policy={**ASK, "confirmation_seconds": 0.2}) as home, calling(home) as call:
        (question,) = await home.asked()
        assert await call.code() == "confirmation_expired"
        late = await home.answer("ann", question)
        assert (late["type"], late["code"]) == ("error", "confirmation_expired")
        assert home.rung == []
        assert [e[1].get("status") for e in await home.events()] == [None, "expired"]
        assert await home.outcomes() == [("expired", None)]


async def test_of_a_hundred_answers_exactly_one_counts() -> None:
    async with house(ui_gateway={"commands_per_second": 10_000}) as home, calling(home) as call:
        (question,) = await home.asked()
        answers = await asyncio.gather(
            *(home.answer(("ann", "bob")[n % 2], question, approved=n % 3 != 0) for n in range(100))
        )
        kinds = [answer.get("code", answer["type"]) for answer in answers]
        assert sorted(set(kinds)) == ["ack", "confirmation_already_answered"]
        assert kinds.count("ack") == 1
        winner = kinds.index("ack")
        assert await call.code() == ("ok" if winner % 3 != 0 else "confirmation_denied")
        assert len(home.rung) == (winner % 3 != 0)


async def test_people_of_other_projects_and_agents_cannot_answer() -> None:
    async with house() as home, calling(home) as call:
        (question,) = await home.asked()
        foreign = await home.answer("eve", question)
        unknown = await home.answer("ann", "cnf_000000000000000000000000")
        assert foreign["code"] == unknown["code"] == "confirmation_not_found"
        assert foreign["message"] == unknown["message"]
        for nobody in ("agent-a", "eve", "nobody"):
            with pytest.raises(CallError) as refused:
                await home.decisions.answer(question, approved=True, by=nobody)
            assert refused.value.code == "confirmation_not_found"
        assert not call.task.done()
        await home.decisions.answer(question, approved=True, by="operator")
        assert await call.code() == "ok"
        assert await home.outcomes() == [("answer_refused", "eve"), ("allowed", "operator")]


async def test_a_second_answer_from_the_command_line_is_refused() -> None:
    async with house() as home, calling(home):
        (question,) = await home.asked()
        await home.decisions.answer(question, approved=False, by="operator")
        with pytest.raises(CallError) as refused:
            await home.decisions.answer(question, approved=True, by="bob")
        assert (refused.value.code, refused.value.status) == ("confirmation_already_answered", 409)


async def test_without_people_nobody_is_waited_for() -> None:
    async with running(Sessions, UiGateway, Policy, Bell, policy=ASK) as aipm:
        administration = aipm.runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "p", None)
        with anyio.fail_after(5):
            reply = await aipm.call("ring")
        assert await aipm.runtime.store.all("select 1 from confirmations") == []
    assert reply.error is not None
    assert (reply.error.code, reply.error.status) == ("no_confirmer", 403)


async def test_an_approval_is_for_one_call_with_these_arguments_in_this_session() -> None:
    async with house() as home, calling(home, times=1) as call:
        (question,) = await home.asked()
        await home.answer("ann", question)
        assert await call.code() == "ok"
        for tool, session, args in (
            ("ring", TASK, {"times": 1}),
            ("ring", TASK, {"times": 2}),
            ("smash", TASK, {"times": 1}),
            ("ring", OTHER, {"times": 1}),
        ):
            async with calling(home, tool, session, **args) as again:
                await home.asked()
                assert not again.task.done()
        assert len(home.rung) == 1


async def test_an_approval_is_spent_by_its_own_call_alone() -> None:
    """Asked directly: whoever calls it must not have to look first."""
    async with house() as home, calling(home, times=1) as first:
        (question,) = await home.asked()
        home.aipm.runtime.engine.end_waits()
        assert await first.code() == "server_stopping"
        await home.answer("ann", question)
        service, tools = home.aipm.runtime.services.use(CONFIRMATIONS), home.aipm.runtime.catalog()
        assert isinstance(service, SqlConfirmations)
        offered = {tool.name: tool for tool in tools}

        async def spend(tool: str = "ring", session: Session = TASK, **args: Json) -> bool:
            request = Request(tool=tool, arguments=args)
            call = Call(request=request, tool=offered[tool], session=session)
            return await home.store.write(lambda tx: service.spend(tx, question, call))

        assert not await spend(times=2)
        assert not await spend()
        assert not await spend("smash", times=1)
        assert not await spend(session=OTHER, times=1)
        assert await spend(times=1)
        assert not await spend(times=1)


async def test_arguments_changed_after_they_were_shown_change_nothing() -> None:
    """What a person has seen is what runs: a caller keeps no hand on it."""
    async with house() as home:
        args: dict[str, Any] = {"how": {"hard": False}}
        request = Request(tool="ring", arguments=args, session=TASK)
        task = asyncio.create_task(home.aipm.runtime.call(request))
        (question,) = await home.asked()
        args["how"]["hard"] = True
        await home.answer("ann", question)
        assert await Calling(task).code() == "ok"
        assert home.rung == [{"how": {"hard": False}}]


async def test_identical_calls_share_a_question_and_each_needs_its_own_yes() -> None:
    async with house() as home, calling(home) as one, calling(home) as two:
        (question,) = await home.asked()
        await home.answer("ann", question)
        done, _ = await asyncio.wait({one.task, two.task}, return_when="FIRST_COMPLETED", timeout=5)
        assert len(done) == len(home.rung) == 1
        (second,) = await home.asked()
        assert second != question
        await home.answer("ann", second)
        assert [await one.code(), await two.code()] == ["ok", "ok"]
        assert len(home.rung) == 2


async def test_a_cancelled_call_withdraws_its_question() -> None:
    async with house() as home:
        async with calling(home):
            (question,) = await home.asked()
        assert (await home.answer("ann", question))["code"] == "confirmation_already_answered"
        assert [e[1].get("status") for e in await home.events()] == [None, "cancelled"]
        assert await home.outcomes() == [("cancelled", None)]
        assert home.rung == []


async def test_an_answer_from_another_process_wakes_the_call(tmp_path: Path) -> None:
    async with (
        house(tmp_path) as home,
        house(tmp_path, empty=False) as elsewhere,
        calling(home) as call,
    ):
        (question,) = await elsewhere.asked()
        await elsewhere.decisions.answer(question, approved=True, by="operator")
        assert await call.code() == "ok"


async def test_a_question_survives_a_restart_and_is_still_for_one_call(tmp_path: Path) -> None:
    async with house(tmp_path) as home:
        task = asyncio.create_task(home.aipm.call("ring"))
        (question,) = await home.asked()
        home.aipm.runtime.engine.end_waits()  # as SIGTERM does
        assert await Calling(task).code() == "server_stopping"
    async with house(tmp_path, empty=False) as home:
        assert await home.asked() == [question]
        await home.answer("ann", question)
        async with calling(home) as call:
            assert await call.code() == "ok"
        async with calling(home) as again:
            assert await home.asked() != [question]
            assert not again.task.done()
        assert len(home.rung) == 1


async def test_an_orphaned_question_expires_after_the_next_start(tmp_path: Path) -> None:
    now = [1_000_000.0]
    async with house(tmp_path, clock=lambda: now[0]) as home:
        task = asyncio.create_task(home.aipm.call("ring"))
        (question,) = await home.asked()
        home.aipm.runtime.engine.end_waits()
        await task
    now[0] += 301
    async with house(tmp_path, empty=False, clock=lambda: now[0]) as home:

        async def look() -> bool | None:
            row = await home.store.one("select status from confirmations where id = ?", question)
            return True if row and row["status"] == "expired" else None

        assert await home.store.wait_until(("confirmations",), look, 10)
        assert (await home.answer("ann", question))["code"] == "confirmation_expired"


async def test_a_session_cannot_flood_people_with_questions() -> None:
    async with (
        house(policy={**ASK, "max_pending": 2}) as home,
        calling(home, times=1),
        calling(home, times=2),
    ):
        await home.asked(2)
        async with calling(home, times=3) as third, calling(home, session=OTHER) as other:
            assert await third.code() == "denied_by_policy"
            await home.asked(3)
            assert not other.task.done()


async def test_yes_for_the_session_covers_the_tool_in_this_session_only() -> None:
    async with house() as home:
        async with calling(home, times=1) as call:
            (question,) = await home.asked()
            await home.answer("ann", question, scope="session")
            assert await call.code() == "ok"
        async with calling(home, times=2) as remembered:
            assert await remembered.code() == "ok"
        async with calling(home, session=OTHER) as other:
            await home.asked()
            assert not other.task.done()
        assert [who for _, who in await home.outcomes()][:2] == ["ann", "ann"]


async def test_always_ends_some_day_and_can_be_taken_back() -> None:
    now = [1_000_000.0]
    newer = Session(id="s-newer", agent_id="agent-a", project_id="p", purpose="task")
    async with house(clock=lambda: now[0]) as home:
        for wait in (29, 2):
            async with calling(home) as call:
                (question,) = await home.asked()
                await home.answer("ann", question, scope="always")
                assert await call.code() == "ok"
            now[0] += 86_400 * wait
            if wait == 29:
                async with calling(home, session=newer) as remembered:
                    assert await remembered.code() == "ok"
                now[0] += 86_400 * 2
        grants = home.aipm.runtime.services.use(GRANTS)
        (grant,) = await grants.valid()
        store = home.aipm.runtime.store
        assert await store.write(lambda tx: grants.take_back(tx, str(grant["id"])))
        async with calling(home) as call:
            await home.asked()
            assert not call.task.done()
        assert not await store.write(lambda tx: grants.take_back(tx, str(grant["id"])))


async def test_always_for_a_critical_call_means_exactly_this_call() -> None:
    async with house() as home:
        async with calling(home, "smash", times=1) as call:
            (question,) = await home.asked()
            await home.answer("ann", question, scope="always")
            assert await call.code() == "ok"
        async with calling(home, "smash", times=1) as same:
            assert await same.code() == "ok"
        async with calling(home, "smash", times=2) as different:
            await home.asked()
            assert not different.task.done()


def asking(level: str | None, **arguments: str) -> dict[str, Any]:
    decision = "REQUIRE_USER_CONFIRMATION"
    return {"tool": "*", "decision": decision, "level": level, "arguments": arguments}


@pytest.mark.parametrize("scope", ["session", "always"])
@pytest.mark.parametrize(
    ("tool", "given", "stricter"),
    [
        ("ring", "INFO", "WARN"),
        ("ring", "INFO", "CRITICAL"),
        ("ring", "WARN", "CRITICAL"),
        ("smash", "WARN", None),  # CRITICAL by itself
    ],
)
async def test_a_broad_yes_does_not_cover_what_a_stricter_rule_asks_about(
    scope: str, tool: str, given: str, stricter: str | None
) -> None:
    rules = [asking(given), asking(stricter, times="9")]
    async with house(policy={"rules": rules}) as home:
        async with calling(home, tool, times=1) as call:
            (question,) = await home.asked()
            await home.answer("ann", question, scope=scope)
            assert await call.code() == "ok"
        async with calling(home, tool, times=2) as remembered:
            assert await remembered.code() == "ok"
        async with calling(home, tool, times=9) as severe:
            (question,) = await home.asked()
            assert (severe.task.done(), len(home.rung)) == (False, 2)
            await home.answer("bob", question, scope=scope)
            assert await severe.code() == "ok"
        async with calling(home, tool, times=9) as same:
            assert await same.code() == "ok"
        assert [who for _, who in await home.outcomes()] == ["ann", "ann", "bob", "bob"]


async def test_a_yes_given_at_a_higher_level_covers_the_lower_ones() -> None:
    async with house(policy={"rules": [asking("INFO"), asking("WARN", times="9")]}) as home:
        async with calling(home, times=9) as call:
            (question,) = await home.asked()
            await home.answer("ann", question, scope="always")
            assert await call.code() == "ok"
        async with calling(home, times=1) as milder:
            assert await milder.code() == "ok"


async def test_a_grant_of_an_older_version_counts_as_the_lowest(tmp_path: Path) -> None:
    async with house(tmp_path, policy={"rules": [asking("INFO")]}) as home:
        async with calling(home, times=1) as call:
            (question,) = await home.asked()
            await home.answer("ann", question, scope="always")
            assert await call.code() == "ok"
        async with calling(home, "smash", times=1) as call:
            await home.asked()
            await home.store.write(lambda tx: tx.run("update confirmations set level = 'CRITICAL'"))
            (question,) = await home.asked()
            await home.answer("ann", question, scope="always")
            assert await call.code() == "ok"
    undone = (
        "alter table policy_grants drop column level",
        "delete from _sqlite_migrations where name = '0004_grant_levels'",
    )
    with sqlite3.connect(tmp_path / "aipm.db") as db:
        for statement in undone:
            db.execute(statement)
    rules = [asking("INFO"), asking("WARN", times="9"), asking("CRITICAL", times="1")]
    async with house(tmp_path, empty=False, policy={"rules": rules}) as home:
        levels = {
            g["tool"]: g["level"] for g in await home.aipm.runtime.services.use(GRANTS).valid()
        }
        assert levels == {"ring": "INFO", "smash": "CRITICAL"}
        async with calling(home, times=2) as info, calling(home, "smash", times=1) as same:
            assert (await info.code(), await same.code()) == ("ok", "ok")
        async with calling(home, times=9) as warned, calling(home, times=1) as critical:
            await home.asked(2)
            assert (warned.task.done(), critical.task.done()) == (False, False)


async def test_a_session_can_be_relieved_of_its_questions() -> None:
    async with house() as home, calling(home, session=OTHER) as other:
        async with calling(home):
            await home.asked(2)
            service = home.aipm.runtime.services.use(CONFIRMATIONS)

            async def withdraw(tx: Tx) -> None:
                await service.withdraw(tx, TASK.id)

            await home.store.write(withdraw)
            statuses = [e[1].get("status") for e in await home.events()]
            assert statuses[:2] == [None, "cancelled"]
        assert not other.task.done()
        assert [e[0] for e in await home.events(OTHER.id)] == ["onToolCallRequest"]


async def test_a_caller_without_a_session_has_nobody_to_ask() -> None:
    async with house() as home:
        reply = await home.aipm.call("knock", None)
        assert reply.error is not None
        assert (reply.error.code, home.rung) == ("no_confirmer", [])
        assert await home.outcomes() == [("no_confirmer", None)]


async def test_an_answer_after_the_time_is_refused_before_anybody_has_looked() -> None:
    now = 1_000_000.0
    async with house(clock=lambda: now) as home, calling(home) as call:
        (question,) = await home.asked()
        now += 301  # the call still waits: its patience is real time
        late = await home.answer("ann", question)
        assert (late["type"], late["code"]) == ("error", "confirmation_expired")
        with pytest.raises(CallError, match="期限") as refused:
            await home.decisions.answer(question, approved=True, by="ann")
        assert refused.value.code == "confirmation_expired"
        assert not call.task.done()
        assert home.rung == []


async def test_an_approval_nobody_has_used_is_withdrawn_with_its_session(tmp_path: Path) -> None:
    async with house(tmp_path) as home, calling(home) as call:
        (question,) = await home.asked()
        home.aipm.runtime.engine.end_waits()
        assert await call.code() == "server_stopping"
    async with house(tmp_path, empty=False) as home:
        assert (await home.answer("ann", question))["type"] == "ack"
        service = home.aipm.runtime.services.use(CONFIRMATIONS)
        await home.store.write(lambda tx: service.withdraw(tx, TASK.id))
        async with calling(home) as again:
            assert await home.asked() != [question]
            assert (again.task.done(), home.rung) == (False, [])


async def test_who_waits_for_a_person_is_told_so() -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def progress(done: float, total: float | None, text: str | None) -> None:
        told.append((done, total, text))

    async with house() as home:
        request = Request(tool="ring", arguments={}, session=TASK, progress=progress)
        task = asyncio.create_task(home.aipm.runtime.call(request))
        (question,) = await home.asked()
        await home.answer("ann", question)
        assert (await task).result == {"rung": 1}
    assert told == [(0, None, "人間の確認を待っています")]


AT_THE_CLIENT: dict[str, Any] = {
    "elicitation": True,
    "rules": [
        {
            "tool": "*",
            "decision": "REQUIRE_USER_CONFIRMATION",
            "level": "INFO",
            "elicitation": True,
        }
    ],
}


class Eager:
    """A client that says yes to everything, whoever it should have asked."""

    def __init__(self, state: str | None = None) -> None:
        self.state = state
        self.asked = 0

    async def ask(self, question: Question) -> Elicited:
        self.asked += 1
        return Elicited(action="accept", content={"approved": True})


async def test_the_level_that_is_shown_decides_whether_a_client_may_answer() -> None:
    (rule,) = AT_THE_CLIENT["rules"]
    by_tool = {"elicitation": True, "rules": [{**rule, "level": None}]}
    for tool in ("ring", "smash"):  # WARN and CRITICAL by themselves
        client = Eager()
        async with house(policy=by_tool) as home:
            request = Request(tool=tool, arguments={}, session=TASK, elicit=client)
            task = asyncio.create_task(home.aipm.runtime.call(request))
            (question,) = await home.asked()
            await anyio.wait_all_tasks_blocked()
            assert (client.asked, task.done(), home.rung) == (0, False, [])
            again = Request(tool=tool, arguments={}, session=TASK, elicit=Eager(question))
            forged = asyncio.create_task(home.aipm.runtime.call(again))
            await anyio.wait_all_tasks_blocked()
            assert await home.asked() == [question]
            assert not forged.done()
            await home.answer("ann", question, approved=False)
            assert await Calling(task).code() == "confirmation_denied"
            assert await Calling(forged).code() == "confirmation_denied"


async def test_a_question_of_a_higher_level_is_not_answered_under_a_milder_rule(
    tmp_path: Path,
) -> None:
    (rule,) = AT_THE_CLIENT["rules"]
    loud = {"elicitation": True, "rules": [{**rule, "level": "CRITICAL"}]}
    async with house(tmp_path, policy=loud) as home, calling(home) as call:
        (question,) = await home.asked()
        home.aipm.runtime.engine.end_waits()
        assert await call.code() == "server_stopping"
    client = Eager(question)
    async with house(tmp_path, empty=False, policy=AT_THE_CLIENT) as home:
        request = Request(tool="ring", arguments={}, session=TASK, elicit=client)
        task = asyncio.create_task(home.aipm.runtime.call(request))
        await anyio.wait_all_tasks_blocked()
        assert await home.asked() == [question]
        assert (client.asked, task.done(), home.rung) == (0, False, [])
        await home.answer("ann", question)
        assert await Calling(task).code() == "ok"


async def test_the_loudest_question_counts_also_when_it_is_the_tools_own() -> None:
    (rule,) = AT_THE_CLIENT["rules"]
    plain = {"tool": "smash", "decision": "REQUIRE_USER_CONFIRMATION"}
    for rules in ([rule, plain], [plain, rule]):
        client = Eager()
        async with house(policy={"elicitation": True, "rules": rules}) as home:
            request = Request(tool="smash", arguments={}, session=TASK, elicit=client)
            task = asyncio.create_task(home.aipm.runtime.call(request))
            (question,) = await home.asked()
            await anyio.wait_all_tasks_blocked()
            ((_, shown), *_) = await home.events()
            assert shown["security_warning"]["level"] == "CRITICAL"
            assert (client.asked, home.rung) == (0, [])
            await home.answer("ann", question, approved=False)
            assert await Calling(task).code() == "confirmation_denied"


class NoScreen:
    """A client that said it can ask its user, and cannot."""

    state: str | None = None
    asked = 0

    async def ask(self, question: Question) -> Elicited:
        self.asked += 1
        raise ConnectionResetError("gone")


async def test_a_client_that_breaks_while_it_asks_leaves_the_question_open(
    caplog: pytest.LogCaptureFixture,
) -> None:
    screen = NoScreen()
    async with house(policy=AT_THE_CLIENT) as home:
        request = Request(tool="ring", arguments={}, session=TASK, elicit=screen)
        task = asyncio.create_task(home.aipm.runtime.call(request))
        (question,) = await home.asked()
        await anyio.wait_all_tasks_blocked()
        assert (screen.asked, task.done()) == (1, False)
        await home.answer("ann", question)
        assert (await task).result == {"rung": 1}
        assert await home.outcomes() == [("allowed", "ann")]
    assert f"the client of {question} could not ask its user" in caplog.text
