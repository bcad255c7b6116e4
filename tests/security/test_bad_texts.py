"""X4: every text through every argument that takes one; it is kept exactly or refused clearly."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from tests.security.attacked_team import AttackedTeam, serving
from tests.security.attempts import TASK_TOOLS, Attempts
from tests.security.codes import documented
from tests.security.corpora import TEXTS
from tests.security.installed import installed
from tests.security.principals import Principals
from tests.security.test_bad_ids import WORDS

PLACES = [
    (registered.tool.name, name)
    for registered in installed().registered()
    if registered.tool.audience != "ui"
    for name in registered.schema.get("properties", {})
    if name in WORDS and (registered.tool.name, name) != ("authenticate", "purpose")
    if registered.tool.name != "report_completed" or name == "summary"
]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("texts")) as made:
        yield made
        assert httpx.get(f"{made.server.url}/healthz").json() == {"status": "ok"}


@pytest.fixture(scope="module")
def principals(team: AttackedTeam) -> Principals:
    return Principals(team)


@pytest.fixture(scope="module")
def attempts(team: AttackedTeam, principals: Principals) -> Attempts:
    return Attempts(team, principals)


def stored(team: AttackedTeam, text: str) -> bool:
    """Return whether a text stands somewhere in the database, character for character."""
    forms = (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1])
    with closing(sqlite3.connect(team.database)) as connection:
        tables = connection.execute("select name from sqlite_master where type = 'table'")
        names = [name for (name,) in tables if not name.startswith(("messages_search", "sqlite_"))]
        for name in names:
            columns = [row[1] for row in connection.execute(f"pragma table_info({name})")]
            tests = " or ".join(f"instr({column}, ?)" for column in columns for _ in forms)
            values = [form for _ in columns for form in forms]
            if connection.execute(f"select 1 from {name} where {tests}", values).fetchone():
                return True
    return False


def test_there_are_texts_to_be_tried() -> None:
    assert len(PLACES) > 15


@pytest.mark.parametrize(("tool", "name"), PLACES)
def test_a_text(
    team: AttackedTeam, principals: Principals, attempts: Attempts, tool: str, name: str
) -> None:
    owner = "boss" if tool.endswith("_task_request") else "ann"
    purpose = "task" if tool in TASK_TOOLS else "chat"
    # What can be said only once is said with all of them at once.
    single = tool in _ONCE
    for text in [" ".join(TEXTS)[:1_500]] if single else TEXTS:
        caller = principals.session(owner, purpose, tool)
        if tool == "report_completed":
            principals.busy(caller, owner)
        given = attempts.arguments(tool, owner, anew=single or tool in _ANEW)
        said = f"{secrets.token_hex(4)} {text}"
        reply = caller.call(tool, **{**given, name: said})
        if "result" in reply:
            assert stored(team, said), said
        else:
            assert reply["error"]["code"] in documented() & {"invalid_arguments"}, (text, reply)


_ONCE = frozenset(
    {
        *("approve_task_request", "reject_task_request", "report_completed", "end_conversation"),
        *("report_delegation_completed", "start_conversation", "request_task"),
        *("notify_task_session", "update_task_from_chat"),
    }
)
_ANEW = frozenset(
    {"send_conversation_message", "respond_conversation_message", "update_task_status"}
)


def test_people_say_it_and_read_it_back(team: AttackedTeam) -> None:
    url = f"{team.server.url}/api/projects/p/agents/ivy/chat/messages"
    headers = {"authorization": f"Bearer {team.tokens['mia']}"}
    with httpx.Client(headers=headers, timeout=30) as client:
        for text in TEXTS:
            sent = client.post(url, json={"content": f"say {text}"})
            assert sent.json()["message"]["content"] == f"say {text}"
        read = [
            message["content"]
            for message in client.get(url, params={"limit": 200}).json()["messages"]
        ]
    assert read[-len(TEXTS) :] == [f"say {text}" for text in TEXTS]


def test_a_chat_file_has_one_line_a_message_whatever_is_in_it(team: AttackedTeam) -> None:
    bob = team.session("bob", "chat")
    for text in TEXTS:
        bob.result("send_message", target_agent_id="rex", content=f"file {text}")
    file = team.install.root / "p" / ".ai-pm" / "agents" / "rex" / "chat.jsonl"
    lines = file.read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert [json.loads(line)["content"] for line in lines] == [f"file {text}" for text in TEXTS]


def test_the_agent_in_the_server_gives_back_what_it_was_told(team: AttackedTeam) -> None:
    headers = {"authorization": f"Bearer {team.tokens['mia']}"}
    with httpx.Client(base_url=team.server.url, headers=headers, timeout=30) as client:
        opening = {"projectId": "p", "agentId": "bob"}
        order = {"id": secrets.token_hex(8), "type": "openSession", "payload": opening}
        session = client.post("/commands", json=order).json()["sessionId"]
        with client.stream("GET", f"/events?session={session}&lastSeq=0") as events:
            lines = events.iter_lines()
            for text in TEXTS:
                payload = {"sessionId": session, "text": f"tell {text}"}
                order = {"id": secrets.token_hex(8), "type": "submitUserInput", "payload": payload}
                assert client.post("/commands", json=order).json()["type"] == "ack"
                assert _answer(lines) == f"echo: tell {text}"


def _answer(lines: Iterator[str]) -> str:
    said = ""
    for line in lines:
        if not line.startswith("data: "):
            continue
        frame = json.loads(line[6:])
        if frame["type"] == "onNewMessage":
            said = frame["payload"]["content"]
        if frame["payload"].get("state") == "waiting_for_input" and said:
            return said
    raise AssertionError("the stream ended")
