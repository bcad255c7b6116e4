"""X1: what should be an id or a path, in every argument, address and command that takes one."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.security.attacked_team import AttackedTeam, serving
from tests.security.attempts import TASK_TOOLS, Attempts
from tests.security.codes import documented
from tests.security.corpora import IDS
from tests.security.installed import installed
from tests.security.principals import Principals

# What people write for people. Everything else of type string names something.
WORDS = frozenset(
    [
        "content",
        "title",
        "description",
        "message",
        "purpose",
        "context",
        "result",
        "summary",
        "reason",
        "initial_message",
        "final_message",
    ]
)
# Where any text is right: a key of the caller's own, a filter that finds nothing, a note.
FREE = {
    ("create_task", "idempotency_key"),
    ("send_message", "idempotency_key"),
    ("list_tasks", "after"),
    ("list_tasks", "assignee_id"),
}
OUTSIDE = "written outside of every project"


def names_of(schema: Any) -> Iterator[str]:
    """Name the arguments of a tool that take an id, a path or a list of them."""
    for name, about in schema.get("properties", {}).items():
        kinds = [about, *about.get("anyOf", [])]
        takes_text = any(
            kind.get("type") == "string" and "enum" not in kind
            for one in kinds
            for kind in (one, one.get("items", {}))
        )
        if takes_text and name not in WORDS | {"session_token"}:
            yield name


TOOLS = {
    registered.tool.name: list(names_of(registered.schema))
    for registered in installed().registered()
    if registered.tool.audience == "agent"
}
ARGUMENTS = [(tool, name) for tool, names in TOOLS.items() for name in names]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    root = tmp_path_factory.mktemp("ids")
    # One person says all of this at once: the limit on people's commands is not what is tried here.
    with serving(root, "[plugins.ui_gateway]\ncommands_per_second = 100000\n") as made:
        (root / "outside.txt").write_text(OUTSIDE)
        (root / "p" / "link.txt").symlink_to(root / "outside.txt")
        (root / "p" / "up").symlink_to(root)
        os.link(root / "outside.txt", root / "p" / "hard.txt")
        os.mkfifo(root / "p" / "pipe.txt")
        yield made
        assert httpx.get(f"{made.server.url}/healthz").json() == {"status": "ok"}
        check_places(made)


def check_places(team: AttackedTeam) -> None:
    """Nothing was made that is not called after a known agent, nothing outside was touched."""
    agents = {path.name for path in team.install.root.glob("*/.ai-pm/agents/*")}
    assert agents <= set(team.passkeys)
    assert {path.name for path in team.install.root.iterdir()} == {
        *("p", "q", ".aipm-data", "aipm.toml", "outside.txt")
    }
    assert (team.install.root / "outside.txt").read_text() == OUTSIDE
    with closing(sqlite3.connect(team.database)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)


@pytest.fixture(scope="module")
def principals(team: AttackedTeam) -> Principals:
    return Principals(team)


@pytest.fixture(scope="module")
def attempts(team: AttackedTeam, principals: Principals) -> Attempts:
    return Attempts(team, principals)


def test_there_are_ids_to_be_tried() -> None:
    assert len(ARGUMENTS) > 20
    assert set(ARGUMENTS) >= FREE


@pytest.mark.parametrize(("tool", "name"), ARGUMENTS)
def test_an_argument_that_names_something(
    principals: Principals, attempts: Attempts, tool: str, name: str
) -> None:
    owner = "boss" if tool.endswith("_task_request") else "ann"
    caller = principals.session(owner, "task" if tool in TASK_TOOLS else "chat")
    if tool == "authenticate":
        owner = "cora"  # who fails too often is locked out for a minute
    given = attempts.arguments(tool, owner, anew=True)
    listed = name.endswith(("_ids", "dependencies"))
    # Every login costs 50 ms of purpose.
    for value in IDS[:: 7 if tool == "authenticate" else 1]:
        reply = caller.call(tool, **{**given, name: [value] if listed else value})
        if "result" in reply:
            assert (tool, name) in FREE, (value, reply)
        else:
            assert reply["error"]["code"] in documented(), (value, reply)
            assert len(str(reply)) < 2_000


# What names nothing is answered so; a path that holds one more step is no address at all.
ADDRESSES = {
    "/api/projects/{}/agents/ann/chat/messages": (404, "project_not_found"),
    "/api/projects/p/agents/{}/chat/messages": (404, "agent_not_found"),
    "/api/projects/p/agents/{}/chat/search?q=x": (404, "agent_not_found"),
    "/api/projects/p/agents/ann/chat/messages?after={}": (400, "invalid_arguments"),
    "/api/projects/p/agents/ann/chat/messages?limit={}": (400, "invalid_arguments"),
    "/api/projects/p/agents/ann/chat/search?q={}": (200, None),
    "/events?session={}": (404, "session_not_found"),
    "/events?session=uis_x&lastSeq={}": (404, "session_not_found"),
    "/events?{}": (400, "invalid_query"),
    "/ag-ui/p/{}": (404, "agent_not_found"),
    "/ag-ui/{}/ann": (404, "agent_not_found"),
    "/{}": (404, "not_found"),
}
RUN = {
    "threadId": "t",
    "runId": "r",
    "state": {},
    "tools": [],
    "context": [],
    "messages": [{"id": "1", "role": "user", "content": "x"}],
    "forwardedProps": {},
}


def expected(path: str, value: str) -> tuple[int, str | None]:
    if path.endswith("?q={}") and not value.strip():
        return 400, "invalid_arguments"  # nothing to look for
    if path == "/events?{}" and not value:
        return 200, None  # a stream of what concerns everybody
    if (path, value) == ("/{}", ""):
        return 200, None  # the page
    if "/{}" in path and (not value or "/" in value):
        return 404, "not_found"
    return ADDRESSES[path]


@pytest.mark.parametrize("path", ADDRESSES)
def test_an_address_that_names_something(team: AttackedTeam, path: str) -> None:
    with httpx.Client(
        base_url=team.server.url,
        headers={"authorization": f"Bearer {team.tokens['mia']}"},
        timeout=30,
    ) as client:
        for value in IDS:
            # A client takes "." and ".." out of a path before it sends it.
            spelled = (
                quote(value, safe="") if value not in (".", "..") else value.replace(".", "%2E")
            )
            runs = path.startswith("/ag-ui")
            asked = client.stream(
                "POST" if runs else "GET", path.format(spelled), json=RUN if runs else None
            )
            with asked as reply:
                told = json.loads(reply.read()) if reply.is_error else {}
                code = told.get("error", told).get("code")
                assert (reply.status_code, code) == expected(path, value), value
                assert code is None or code in documented()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("openSession", "projectId"),
        ("openSession", "agentId"),
        ("openSession", "sessionId"),
        ("closeSession", "sessionId"),
        ("cancelRun", "sessionId"),
        ("submitUserInput", "sessionId"),
        ("provideConfirmation", "confirmationId"),
        ("command", "id"),
        ("command", "type"),
    ],
)
def test_a_command_that_names_something(team: AttackedTeam, command: str, name: str) -> None:
    """None of them is the name of anything, except for an id that the caller may choose."""
    beside: dict[str, dict[str, Any]] = {
        "projectId": {"agentId": "ann"},
        "agentId": {"projectId": "p"},
        "confirmationId": {"approved": True},
    }
    more = beside.get(name, {})
    if command == "submitUserInput":
        more = {"text": "x"}
    with httpx.Client(base_url=team.server.url, timeout=30) as client:
        for value in IDS:
            payload = {name: value, **more}
            order: dict[str, Any] = {"id": secrets.token_hex(8), "type": command}
            order["payload"] = payload
            if command == "command":
                opened = {"projectId": "p", "agentId": "ann"}
                order = {"id": value, "type": "openSession", "payload": opened}
                order = order if name == "id" else {**order, "id": "x", "type": value}
            headers = {"authorization": f"Bearer {team.tokens['mia']}"}
            reply = client.post("/commands", json=order, headers=headers)
            assert reply.status_code < 500, (value, reply.text)
            if name == "id" and reply.is_success:
                assert reply.json()["id"] == value
            else:
                assert reply.json()["code"] in documented(), (value, reply.text)


def test_a_path_for_the_agent_in_the_server(team: AttackedTeam) -> None:
    """Whatever the path looks like, nothing outside of the project is ever read."""
    planted = ("../outside.txt", "link.txt", "up/outside.txt", "hard.txt", "pipe.txt")
    tries = [*IDS, *planted, str(team.install.root / "outside.txt"), "./../p/../outside.txt"]
    headers = {"authorization": f"Bearer {team.tokens['mia']}"}
    with httpx.Client(base_url=team.server.url, headers=headers, timeout=30) as client:

        def give(kind: str, **payload: Any) -> Any:
            order = {"id": secrets.token_hex(8), "type": kind, "payload": payload}
            return client.post("/commands", json=order).json()

        session = give("openSession", projectId="p", agentId="ann")["sessionId"]
        with client.stream("GET", f"/events?session={session}&lastSeq=0") as events:
            lines = events.iter_lines()
            for path in tries:
                for tool in ("file:read", "file:list"):
                    said = f"!call {tool} {json.dumps({'path': path})}"
                    answer = give("submitUserInput", sessionId=session, text=said)
                    assert answer["type"] == "ack", answer
                    told = _turn(lines)
                    assert OUTSIDE not in told, path
                    assert "internal_error" not in told, path


def _turn(lines: Iterator[str]) -> str:
    """Return everything that is told until the agent waits again."""
    told = ""
    for line in lines:
        told += line
        if '"waiting_for_input"' in line:
            return told
    raise AssertionError("the stream ended")
