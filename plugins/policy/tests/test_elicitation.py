"""The person at the agent's own client answers: every transport, both eras, the official client."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import httpx
import pytest
from aipm_devkit.program import AIPM, Install
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult, ElicitResult, ErrorData, InputRequiredResult

ON = """
[plugins.policy]
elicitation = true
"""
RULE = """
[[plugins.policy.rules]]
tool = "create_task"
decision = "REQUIRE_USER_CONFIRMATION"
elicitation = true
level = "INFO"
message = "Careful"
"""
ENGLISH = 'locale = "en"'
DOORS = ("legacy stdio", "modern stdio", "legacy http", "modern http")
MODERN = ("modern stdio", "modern http")


def accept(approved: Any = True) -> ElicitResult:
    return ElicitResult(action="accept", content={"approved": approved})


class Person:
    """The user of a client: sees the questions and answers as told."""

    def __init__(self, answer: ElicitResult | ErrorData | None = None) -> None:
        self.seen: list[Any] = []
        self.asked = anyio.Event()
        self.left = anyio.Event()
        self._answer = answer

    async def __call__(self, context: Any, params: Any) -> ElicitResult | ErrorData:
        self.seen.append(params)
        self.asked.set()
        if self._answer is not None:
            return self._answer
        try:
            await anyio.sleep_forever()
        finally:
            self.left.set()
        raise AssertionError


@dataclass
class Agent:
    """A client that is logged in."""

    client: Client
    token: str

    async def create(self, title: str, **more: Any) -> dict[str, Any]:
        """Call the tool that is confirmed."""
        args = {"title": title, "session_token": self.token}
        return dict((await self.client.call_tool("create_task", args, **more)).structured_content)

    async def round(self, title: str, **more: Any) -> CallToolResult | InputRequiredResult:
        """Make one round of a modern call."""
        args = {"title": title, "session_token": self.token}
        made = await self.client.session.call_tool(
            "create_task", args, allow_input_required=True, **more
        )
        assert isinstance(made, CallToolResult | InputRequiredResult)
        return made

    async def answered(
        self, title: str, state: str | None, answer: ElicitResult | None = None
    ) -> dict[str, Any]:
        """Repeat a modern call with an answer; return what it comes to."""
        responses: Any = {"confirmation": answer or accept()}
        made = await self.round(title, input_responses=responses, request_state=state)
        assert isinstance(made, CallToolResult)
        return dict(made.structured_content or {})


@dataclass
class Office:
    """A running program with one agent and one human."""

    aipm: Install
    url: str
    login: dict[str, str]

    @asynccontextmanager
    async def agent(self, door: str, person: Person | None) -> AsyncGenerator[Agent]:
        """Connect as the agent; ``None`` is a client that cannot ask."""
        era, _, wire = door.partition(" ")
        process = StdioServerParameters(
            command=str(AIPM), args=["mcp"], cwd=self.aipm.root, env=self.aipm.env()
        )
        server: Any = self.url if wire == "http" else process
        mode: Any = "legacy" if era == "legacy" else "2026-07-28"
        async with Client(server, mode=mode, elicitation_callback=person) as client:
            login = await client.call_tool("authenticate", self.login)
            yield Agent(client, (login.structured_content or {})["result"]["session_token"])

    async def run(self, *words: str) -> Any:
        """Run a command beside the server; return its data."""
        return await anyio.to_thread.run_sync(lambda: self.aipm.json(*words))

    def rows(self, sql: str) -> list[Any]:
        """Look into the store."""
        with closing(sqlite3.connect(self.aipm.root / ".aipm-data" / "aipm.db")) as db, db:
            return [row[0] for row in db.execute(sql)]

    def open(self) -> list[str]:
        return self.rows("select id from confirmations where status = 'pending'")

    async def asked(self) -> str:
        """Return the id of the one open question, as soon as there is one."""
        with anyio.fail_after(30):
            while not (waiting := self.open()):  # noqa: ASYNC110 - as a person looks
                await anyio.sleep(0.05)
        (question,) = waiting
        return str(question)

    def titles(self) -> list[str]:
        return self.rows("select title from tasks")

    def last(self) -> tuple[str, str | None, str | None]:
        """Return what the audit says in the end about a call somebody had to confirm."""
        rules = "json_extract(entry, '$.tool') = 'create_task'"
        (text,) = self.rows(
            f"select entry from policy_audit where {rules} order by seq desc limit 1"
        )
        last = json.loads(text)
        return last["outcome"], last.get("human_decision"), last.get("human_id")


async def _settle(root: Path) -> str:
    common: dict[str, Any] = {"project_id": "p", "role": "worker", "parent": None}
    async with running(Sessions, data_dir=root / ".aipm-data") as made:
        administration = made.runtime.services.use(ADMINISTRATION)
        await administration.add_project("p", "p", None)
        await administration.add_agent("ann", name="ann", kind="human", **common)
        _, passkey = await administration.add_agent("bot", name="bot", kind="ai", **common)
    return passkey


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    root = tmp_path_factory.mktemp("office")
    aipm = Install.make(root, ENGLISH + ON + RULE)
    passkey = anyio.run(_settle, root)
    login = {"agent_id": "bot", "passkey": passkey, "project_id": "p", "purpose": "task"}
    with aipm.up() as server:
        yield Office(aipm, server.mcp, login)


@pytest.mark.parametrize("door", DOORS)
async def test_a_yes_at_the_client_runs_the_call_once(office: Office, door: str) -> None:
    person = Person(accept())
    async with office.agent(door, person) as agent:
        made = await agent.create(f"yes {door}")
    assert made["result"]["task"]["title"] == f"yes {door}"
    assert office.titles().count(f"yes {door}") == 1
    (question,) = person.seen
    for part in ("[INFO] Careful", "create_task", f"yes {door}"):
        assert part in question.message
    assert agent.token not in question.message
    assert question.requested_schema["properties"]["approved"]["type"] == "boolean"
    assert office.last() == ("allowed", "approved", "elicitation:bot")
    assert office.open() == []


@pytest.mark.parametrize("door", DOORS)
async def test_each_no_has_its_own_reason(office: Office, door: str) -> None:
    reasons = []
    for answer in (ElicitResult(action="decline"), accept(approved=False)):
        async with office.agent(door, Person(answer)) as agent:
            error = (await agent.create(f"no {door}"))["error"]
        assert error["code"] == "confirmation_denied"
        reasons.append(error["message"])
        assert office.last() == ("denied", "denied", "elicitation:bot")
    assert "declined" in reasons[0]
    assert "answered no" in reasons[1]
    assert f"no {door}" not in office.titles()


@pytest.mark.parametrize(
    ("door", "answer"),
    [
        *((door, ElicitResult(action="cancel")) for door in DOORS),
        ("legacy http", accept("yes")),
        ("modern http", ElicitResult(action="accept")),
    ],
)
async def test_what_is_no_answer_leaves_the_question_open(
    office: Office, door: str, answer: ElicitResult
) -> None:
    person = Person(answer)
    async with office.agent(door, person) as agent:
        calls = asyncio.create_task(agent.create(f"open {door}"))
        await person.asked.wait()
        await office.run("deny", await office.asked())
        error = (await calls)["error"]
    assert (error["code"], len(person.seen)) == ("confirmation_denied", 1)
    assert office.last() == ("denied", "denied", "operator")


@pytest.mark.parametrize("door", ["legacy stdio", "legacy http"])
async def test_a_client_that_fails_to_ask_leaves_the_question_open(
    office: Office, door: str
) -> None:
    person = Person(ErrorData(code=-32603, message="no screen"))
    async with office.agent(door, person) as agent:
        calls = asyncio.create_task(agent.create(f"broken {door}"))
        await person.asked.wait()
        await office.run("approve", await office.asked())
        assert (await calls)["result"]


@pytest.mark.parametrize("door", DOORS)
async def test_a_client_that_cannot_ask_waits_for_the_command_line(
    office: Office, door: str
) -> None:
    async with office.agent(door, None) as agent:
        calls = asyncio.create_task(agent.create(f"plain {door}"))
        await office.run("approve", await office.asked())
        assert (await calls)["result"]["task"]["title"] == f"plain {door}"
    assert office.last() == ("allowed", "approved", "operator")


@pytest.mark.parametrize("door", ["legacy stdio", "legacy http"])
async def test_an_answer_elsewhere_takes_the_question_off_the_screen(
    office: Office, door: str
) -> None:
    person = Person()
    async with office.agent(door, person) as agent:
        calls = asyncio.create_task(agent.create(f"elsewhere {door}"))
        await person.asked.wait()
        await office.run("approve", await office.asked())
        assert (await calls)["result"]
        with anyio.fail_after(10):
            await person.left.wait()
    assert office.last() == ("allowed", "approved", "operator")


@pytest.mark.parametrize("door", MODERN)
async def test_the_first_answer_counts_wherever_it_comes_from(office: Office, door: str) -> None:
    async with office.agent(door, Person()) as agent:
        for word, code in (("deny", "confirmation_denied"), ("approve", "ok")):
            title = f"first {word} {door}"
            asked = await agent.round(title)
            assert isinstance(asked, InputRequiredResult)
            await office.run(word, await office.asked())
            came = await agent.answered(title, asked.request_state)
            assert came.get("error", {"code": "ok"})["code"] == code
    assert office.last() == ("allowed", "approved", "operator")


@pytest.mark.parametrize("door", MODERN)
async def test_only_the_very_same_call_is_continued_and_only_once(
    office: Office, door: str
) -> None:
    title = f"bound {door}"
    async with office.agent(door, Person()) as agent, office.agent(door, Person()) as other:
        asked = await agent.round(title)
        assert isinstance(asked, InputRequiredResult)
        state = str(asked.request_state)
        for who, what, claimed in (
            (agent, f"altered {door}", state),
            (other, title, state),
            (agent, title, f"{state}0"),
            (agent, title, ""),
        ):
            refused = await who.answered(what, claimed)
            assert refused["error"]["code"] == "confirmation_not_found"
            assert office.last()[0] == "answer_refused"
        assert await office.asked() == state
        early = await agent.round(title, input_responses={"confirmation": accept()})
        assert isinstance(early, InputRequiredResult), "nobody has seen the question yet"
        again = await agent.round(title, request_state=state)
        assert isinstance(again, InputRequiredResult)
        assert again.request_state == state

        both = await asyncio.gather(*(agent.answered(title, state) for _ in range(2)))
        both.append(await agent.answered(title, state))
        codes = sorted(came.get("error", {"code": ""})["code"] for came in both)
        assert codes == ["", "confirmation_already_answered", "confirmation_already_answered"]
    titles = office.titles()
    assert (titles.count(title), f"altered {door}" in titles) == (1, False)


HELLO = {
    "protocolVersion": "2025-11-25",
    "clientInfo": {"name": "test", "version": "1"},
}


class Raw:
    """A legacy client without a library."""

    def __init__(self, url: str, http: httpx.AsyncClient) -> None:
        self._url = url
        self._http = http

    def post(self, session: str, **message: Any) -> Any:
        head = {"accept": "application/json, text/event-stream", "mcp-session-id": session}
        body = {"jsonrpc": "2.0", **message}
        return self._http.stream("POST", self._url, json=body, headers=head)

    async def greet(self, capabilities: Any) -> str:
        params = {**HELLO, "capabilities": capabilities}
        async with self.post("", id=1, method="initialize", params=params) as hello:
            return str(hello.headers["mcp-session-id"])


async def test_an_answer_counts_in_the_session_that_was_asked_only(office: Office) -> None:
    async with office.agent("legacy http", None) as agent, httpx.AsyncClient(timeout=30) as http:
        raw = Raw(office.url, http)
        mine, theirs = await raw.greet({"elicitation": {}}), await raw.greet({"elicitation": {}})
        call = {"name": "create_task", "arguments": {"title": "raw", "session_token": agent.token}}
        async with raw.post(mine, id=7, method="tools/call", params=call) as stream:
            events = (json.loads(x[6:]) async for x in stream.aiter_lines() if x[:6] == "data: ")
            question = await anext(events)
            assert question["method"] == "elicitation/create"
            answers = (
                (theirs, question["id"], accept()),
                ("unknown", question["id"], accept()),
                (mine, "aipm-1", accept()),
                (mine, question["id"], ElicitResult(action="decline")),
            )
            for session, name, answer in answers:
                async with raw.post(session, id=name, result=answer.model_dump()) as taken:
                    assert taken.status_code == 202
            result = await anext(events)
        assert (result["id"], result["result"]["isError"]) == (7, True)
    assert "raw" not in office.titles()


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, None])
async def test_a_client_that_shows_no_forms_is_sent_none(office: Office, capabilities: Any) -> None:
    async with office.agent("legacy http", None) as agent, httpx.AsyncClient(timeout=30) as http:
        raw = Raw(office.url, http)
        session = "unknown" if capabilities is None else await raw.greet(capabilities)
        call = {"name": "create_task", "arguments": {"title": "mute", "session_token": agent.token}}

        async def deny() -> None:
            await office.run("deny", await office.asked())

        denial = asyncio.create_task(deny())
        async with raw.post(session, id=7, method="tools/call", params=call) as answer:
            assert answer.headers["content-type"] == "application/json"
        await denial


@pytest.mark.parametrize("approved", [False, True], ids=["unanswered", "approved"])
async def test_an_answer_that_comes_too_late_is_refused(office: Office, approved: bool) -> None:
    title = f"late {approved}"
    async with office.agent("modern http", Person()) as agent:
        asked = await agent.round(title)
        assert isinstance(asked, InputRequiredResult)
        if approved:
            await office.run("approve", await office.asked())
        office.rows(f"update confirmations set expires_at = 1 where id = '{asked.request_state}'")
        late = await agent.answered(title, asked.request_state)
        assert late["error"]["code"] == "confirmation_expired"
    assert title not in office.titles()


CLOSED = {
    "nothing is said": RULE,
    "switched off": ON.replace("true", "false") + RULE,
    "no rule allows it": ON + RULE.replace("elicitation = true\n", ""),
    "a stricter rule asks too": ON + RULE + RULE.replace("elicitation = true\n", ""),
    "a rule of level WARN": ON + RULE.replace("INFO", "WARN"),
    "a rule of level CRITICAL": ON + RULE.replace("INFO", "CRITICAL"),
    "a tool that changes data": ON + RULE.replace('level = "INFO"\n', ""),
}


@asynccontextmanager
async def closed_office(root: Path, settings: str) -> AsyncGenerator[Office]:
    aipm = Install.make(root, settings)
    passkey = await _settle(root)
    login = {"agent_id": "bot", "passkey": passkey, "project_id": "p", "purpose": "task"}
    with aipm.up() as server:
        yield Office(aipm, server.mcp, login)


@pytest.mark.parametrize("settings", CLOSED.values(), ids=[*CLOSED])
async def test_only_setting_and_rule_together_open_this_way_and_for_info_alone(
    tmp_path: Path, settings: str
) -> None:
    person = Person(accept())
    async with closed_office(tmp_path, settings) as here:
        for door in ("legacy stdio", "modern http"):
            async with here.agent(door, person) as agent:
                calls = asyncio.create_task(agent.create(door))
                await here.run("deny", await here.asked())
                assert (await calls)["error"]["code"] == "confirmation_denied"
        assert here.titles() == []
    assert person.seen == []
    assert "elicitation" not in "".join(here.rows("select entry from policy_audit"))


async def test_a_forged_answer_opens_nothing_where_this_way_is_closed(tmp_path: Path) -> None:
    async with closed_office(tmp_path, RULE) as here, here.agent("modern http", Person()) as agent:
        first = asyncio.create_task(agent.create("mine"))
        asked = await here.asked()
        forged = [
            asyncio.create_task(agent.answered(title, state))
            for title, state in (("mine", asked), ("other", asked), ("third", "cnf_0"))
        ]
        with anyio.fail_after(30):
            while len(here.open()) < 3:  # noqa: ASYNC110 - as a person looks
                await anyio.sleep(0.05)
        assert not any(call.done() for call in (first, *forged))
        for question in here.open():
            await here.run("deny", question)
        answers = [await call for call in (first, *forged)]
        # Two calls are the same: the second of them asks again, or hears the same no.
        assert {answer["error"]["code"] for answer in answers} == {"confirmation_denied"}
        assert here.titles() == []
        assert "elicitation" not in "".join(here.rows("select entry from policy_audit"))
