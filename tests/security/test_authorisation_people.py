"""Every tool of people in every state of its caller: the table holds, and it is whole."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from aipm_core import iso
from tests.security import grid
from tests.security.attacked_team import AttackedTeam, serving
from tests.security.authorisation_table import PEOPLES_TOOLS, PERSON_STATES, WORDS
from tests.security.installed import installed
from tests.security.snapshot import untouched

TABLE = grid.read(PEOPLES_TOOLS, WORDS)
ASKING = frozenset(
    {"provide_confirmation", "provideConfirmation", "propose_instead", "revoke_grant"}
)
# What is refused first: what is allowed lets agents work on beside the tests that follow.
CELLS = sorted(
    ((tool, state) for tool, row in TABLE.items() for state in row),
    key=lambda cell: (cell[0] in ASKING, TABLE[cell[0]][cell[1]] == "ok"),
)
SETTINGS = """
[plugins.runner]
in_server = false
[[plugins.policy.rules]]
tool = "file:*"
decision = "REQUIRE_USER_CONFIRMATION"
"""
PROJECT: dict[str, Any] = {"project_id": "p"}

RUN_TOOLS = (
    *("stop_run", "leave_run", "undo_run"),
    *("read_run_log", "show_run_changes", "prepare_merge"),
)


class People:
    """The people of a project, and what they call tools with."""

    def __init__(self, team: AttackedTeam) -> None:
        self.team = team
        self._http = httpx.Client(base_url=team.server.url, timeout=30)
        self._agent = team.session("bob", "chat")

    def call(self, token: str | None, tool: str, given: dict[str, Any]) -> str:
        """Call a tool; return ``ok`` or the code."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        reply = self._http.post(f"/api/tools/{tool}", json=given, headers=headers)
        return "ok" if reply.is_success else str(reply.json()["error"]["code"])

    def result(self, person: str, tool: str, /, **given: Any) -> dict[str, Any]:
        """Call a tool that must do."""
        headers = {"authorization": f"Bearer {self.team.tokens[person]}"}
        reply = self._http.post(f"/api/tools/{tool}", json=given, headers=headers)
        assert reply.is_success, reply.text
        return dict(reply.json()["result"])

    def token(self, state: str) -> str | None:
        """Return what a caller in a state shows."""
        tokens = self.team.tokens
        return {
            "nobody": None,
            "unknown": f"aipm_ui_{secrets.token_urlsafe(32)}",
            "expired": tokens["expired"],
            "revoked": tokens["revoked"],
            "passkey": self.team.passkeys["mary"],
            "session": self._agent.token,
            "elsewhere": tokens["quentin"],
            "person": tokens["max"],
            "manager": tokens["mary"],
        }[state]

    def task(self) -> dict[str, Any]:
        """Make a task; return what names it."""
        made = self.result("mary", "create_task", **PROJECT, title="t")
        return {**PROJECT, "task_id": made["task"]["id"]}

    def finished(self) -> dict[str, Any]:
        """Make a task that is cancelled; return what names it."""
        named = self.task()
        self.result("mary", "move_task", **named, status="cancelled")
        return named

    def project(self, *, archived: bool) -> dict[str, Any]:
        """Make a project of mary's and max's; return what names it."""
        name = f"p{secrets.token_hex(4)}"
        self.result("mary", "create_project", id=name)
        self.result("mary", "assign_agent", project_id=name, agent_id="max")
        if archived:
            self.result("mary", "archive_project", project_id=name)
        return {"project_id": name}

    def request(self) -> dict[str, Any]:
        """Let an agent ask for a task that waits for approval."""
        made = self.team.session("bob", "task").result("request_task", title="may I")
        return {**PROJECT, "task_id": made["task_id"]}

    def item(self) -> dict[str, Any]:
        """Let something wait for every person of the project."""
        return {**PROJECT, "item_id": self.request()["task_id"]}

    def member(self) -> dict[str, Any]:
        """Add an agent; return what names it."""
        name = f"a{secrets.token_hex(4)}"
        self.result("mary", "add_agent", **PROJECT, agent_id=name)
        return {**PROJECT, "agent_id": name}

    def session(self) -> dict[str, Any]:
        """Open a session of mary's with an agent."""
        opened = self.result("mary", "openSession", projectId="p", agentId="bob")
        return {"sessionId": opened["sessionId"]}

    def agent_session(self) -> dict[str, Any]:
        """Open an agent's session; return what names it."""
        self.team.session("rex", "chat")
        with closing(sqlite3.connect(self.team.database)) as connection:
            sql = "select id from sessions where agent_id = 'rex' order by rowid desc limit 1"
            return {**PROJECT, "session_id": connection.execute(sql).fetchone()[0]}

    def needed_agent(self) -> dict[str, Any]:
        """Add an agent with a program and something to do."""
        made = {**self.member(), "program": "script"}
        self.result("mary", "edit_agent", **made)
        todo = {"title": "t", "status": "todo", "assignee_id": made["agent_id"]}
        self.result("mary", "create_task", **PROJECT, **todo)
        return {**PROJECT, "agent_id": made["agent_id"]}

    def ended_run(self) -> dict[str, Any]:
        """Write down a run that has failed and was taken back; return what names it."""
        run_id = f"run_{secrets.token_hex(4)}"
        with closing(sqlite3.connect(self.team.database)) as connection, connection:
            connection.execute(
                "insert into runs (id, agent_id, project_id, purpose, program, owner, state, "
                "since, evidence, evidence_at, created_at, ended_at, end_reason, ended_time, "
                "undone_by, undone_at) values (?, 'bob', 'p', 'task', 'x', 'rnr_x', 'ended', '', "
                "'exit', '', '', '2999', 'unknown', 1, 'mary', '2999')",
                (run_id,),
            )
        return {**PROJECT, "run_id": run_id}

    def agent_token(self) -> dict[str, Any]:
        """Make a token of an agent; return what names it."""
        made = self.result("mary", "create_agent_token", **PROJECT, agent_id="bob")
        return {**PROJECT, "token_id": made["id"]}

    def question(self) -> str:
        """Let the agent of a session ask; return the question's id."""
        (self.team.install.root / "p" / "x").write_text("x")
        session = self.session()["sessionId"]
        url, headers = f"/events?session={session}&lastSeq=0", self.team.tokens["mary"]
        asked = {"authorization": f"Bearer {headers}"}
        with self._http.stream("GET", url, headers=asked) as events:
            text = '!call file:read {"path": "x"}'
            self.result("mary", "submitUserInput", sessionId=session, text=text)
            for line in events.iter_lines():
                if "confirmationId" in line:
                    return line.partition('"confirmationId":"')[2].partition('"')[0]
        raise AssertionError("nobody was asked")

    def close(self) -> None:
        """Leave."""
        self._http.close()

    def given(self, tool: str) -> dict[str, Any]:
        """Return arguments that would do for the manager."""
        bob = {**PROJECT, "agent_id": "bob"}
        plain: dict[str, dict[str, Any]] = {
            "create_project": {"id": f"p{secrets.token_hex(4)}"},
            "edit_project": {**PROJECT, "name": "P"},
            "pause_project": PROJECT,
            "resume_project": PROJECT,
            "list_projects": {},
            "list_agents": PROJECT,
            "list_sessions": PROJECT,
            "list_runs": PROJECT,
            "list_tasks": PROJECT,
            "get_status": PROJECT,
            "read_inbox": PROJECT,
            "add_agent": {**PROJECT, "agent_id": f"a{secrets.token_hex(4)}"},
            "assign_agent": bob,
            "create_token": {"agent_id": "mia"},
            "list_tokens": {"agent_id": "mia"},
            "create_task": {**PROJECT, "title": "t"},
            "say": {**bob, "content": "hello"},
            "broadcast": {**PROJECT, "content": "hello", "target_agent_ids": ["bob"]},
            "read_messages": bob,
            "search_messages": {**bob, "text": "hello"},
            "notify": {**bob, "type": "message", "message": "hello"},
            "announce": {"content": "hello"},
            "show_programs": bob,
            "openSession": {"projectId": "p", "agentId": "bob"},
            "list_plugins": {},
            "check_plugin": {"name": "tasks"},
            "list_rules": PROJECT,
            "list_grants": PROJECT,
            "list_audit": PROJECT,
            "rehearse_rules": PROJECT,
            "make_rule": {**PROJECT, "tool": "native:Bash"},
            "verify_audit": {},
            "create_login_code": {},
            "read_activity": PROJECT,
            "create_agent_token": bob,
            "list_agent_tokens": bob,
        }
        return plain[tool] if tool in plain else self._made(tool)

    def _made(self, tool: str) -> dict[str, Any]:
        makers: dict[str, Callable[[], dict[str, Any]]] = {
            "edit_agent": lambda: {**self.member(), "name": "new"},
            "rekey_agent": self.member,
            "unassign_agent": self.member,
            "remove_agent": lambda: {"agent_id": self.member()["agent_id"]},
            "archive_project": lambda: self.project(archived=False),
            "delete_project": lambda: self.project(archived=True),
            "answer_item": lambda: {"item_id": self.request()["task_id"], "approved": True},
            "set_dependencies": lambda: {**self.task(), "dependencies": []},
            "reopen_task": self.finished,
            "archive_task": self.finished,
            "delete_task": self.task,
            "get_task": lambda: {"task_id": self.task()["task_id"]},
            "end_session": self.agent_session,
            "revoke_token": self.foreign_token,
            "edit_task": lambda: {**self.task(), "title": "new"},
            "move_task": lambda: {**self.task(), "status": "todo"},
            "assign_task": lambda: {**self.task(), "assignee_id": "bob"},
            "approve_task_request": self.request,
            "reject_task_request": self.request,
            "snooze_item": lambda: {**self.item(), "until": iso(time.time() + 60)},
            "hand_over_item": lambda: {**self.item(), "to": "mia"},
            "provide_confirmation": lambda: {"confirmation_id": self.question(), "approved": False},
            "provideConfirmation": lambda: {"confirmationId": self.question(), "approved": False},
            "propose_instead": lambda: {
                "confirmation_id": self.question(),
                "arguments": {"path": "y"},
            },
            "revoke_grant": self.grant,
            "revoke_rule": self.rule,
            "edit_message": lambda: {**self.message(), "content": "hello again"},
            "withdraw_message": self.message,
            "start_run": self.needed_agent,
            **dict.fromkeys(RUN_TOOLS, self.ended_run),
            "revoke_agent_token": self.agent_token,
            "submitUserInput": lambda: {**self.session(), "text": "hello"},
            "closeSession": self.session,
            "cancelRun": self.session,
        }
        return makers[tool]()

    def message(self) -> dict[str, Any]:
        """Say something that nobody has read; return what names it."""
        given = {**PROJECT, "agent_id": "bob", "content": "hello"}
        return {**PROJECT, "message_id": self.result("mary", "say", **given)["message_id"]}

    def grant(self) -> dict[str, Any]:
        """Say yes for a whole session; return what names that permission."""
        answer = {"confirmation_id": self.question(), "approved": True, "scope": "session"}
        self.result("mary", "provide_confirmation", **answer)
        (newest, *_) = reversed(self.result("mary", "list_grants", **PROJECT)["grants"])
        return {**PROJECT, "grant_id": newest["id"]}

    def rule(self) -> dict[str, Any]:
        """Make a rule; return what names it."""
        made = self.result("mary", "make_rule", **self.given("make_rule"))
        return {**PROJECT, "rule_id": made["rule_id"]}

    def foreign_token(self) -> dict[str, Any]:
        """Make a token of somebody else; return what names it."""
        return {"token_id": self.result("mary", "create_token", agent_id="mia")["id"]}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    with serving(tmp_path_factory.mktemp("people"), SETTINGS) as made:
        with closing(sqlite3.connect(made.database)) as connection, connection:
            sql = "update ui_tokens set expires_at = ? where id = ?"
            connection.execute(sql, (time.time() - 60, made.token_ids["expired"]))
        with closing(People(made)) as everybody:
            yield everybody


def test_every_tool_and_every_state_is_in_the_table() -> None:
    every = [found.tool for found in installed().registered()]
    assert {tool.name for tool in every if tool.audience == "ui"} == TABLE.keys()
    for tool, row in TABLE.items():
        assert row.keys() == PERSON_STATES.keys(), tool


@pytest.mark.parametrize(("tool", "state"), CELLS)
def test_a_tool_in_a_state(people: People, tool: str, state: str) -> None:
    wanted = TABLE[tool][state]
    given = people.given(tool)
    with untouched(people.team.database, unless=wanted == "ok" or tool in ASKING):
        assert people.call(people.token(state), tool, given) == wanted
