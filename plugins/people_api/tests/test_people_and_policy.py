"""Policy and audit hold for people too; nobody is asked to confirm what people do themselves."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from tests.people import House, house

RULES = """
[[plugins.policy.rules]]
tool = "say"
agent = "max"
decision = "DENY"
[[plugins.policy.rules]]
tool = "create_task"
project = "other"
purpose = "ui"
decision = "DENY"
message = "not here"
[[plugins.policy.rules]]
tool = "provide*"
decision = "REQUIRE_USER_CONFIRMATION"
[[plugins.policy.rules]]
tool = "get_my_task"
decision = "REQUIRE_USER_CONFIRMATION"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("policy"), RULES) as made:
        yield made


def audit(home: House, tool: str) -> list[tuple[Any, ...]]:
    """Return what is on record about a tool."""
    database = home.install.root / ".aipm-data/aipm.db"
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        entries = [
            json.loads(row[0]) for row in connection.execute("select entry from policy_audit")
        ]
    shown = ("agent_id", "project_id", "outcome", "human_decision")
    return [tuple(one.get(name) for name in shown) for one in entries if one["tool"] == tool]


def test_a_rule_that_denies_holds_for_people(home: House) -> None:
    about = {"project_id": "shop", "agent_id": "bot", "content": "hello"}
    with home.person("max") as denied, home.person("mia") as mia, home.person("eve") as eve:
        assert denied.refused("say", **about) == (403, "denied_by_policy")
        mia.call("say", **about)
        mia.call("create_task", project_id="shop", title="here")
        elsewhere = eve.post("create_task", project_id="other", title="there")
        assert elsewhere.json()["error"]["message"] == "not here"
    assert ("max", "shop", "denied", None) in audit(home, "say")


def asked(home: House, call: Future[dict[str, Any]]) -> str:
    """Return the id of what waits for a person."""
    while not call.done():
        if waiting := home.install.json("inbox"):
            return str(waiting[0]["id"])
    raise AssertionError(call.result())


def test_an_answer_needs_no_confirmation_and_its_note_reaches_the_agent(home: House) -> None:
    token = home.agent("bot")["session_token"]
    with (
        ThreadPoolExecutor(1) as thread,
        home.person("mia") as mia,
        home.person("eve") as eve,
    ):
        call = thread.submit(home.mcp, "get_my_task", token)
        answer: dict[str, Any] = {
            "confirmation_id": asked(home, call),
            "approved": True,
            "note": "be quick",
        }
        assert eve.refused("provide_confirmation", **answer) == (404, "confirmation_not_found")
        assert mia.call("provide_confirmation", **answer)["approved"] is True
        assert mia.refused("provide_confirmation", **answer) == (
            409,
            "confirmation_already_answered",
        )
        assert "result" in call.result(timeout=30)
    told = home.mcp("get_notifications", token)["result"]["notifications"]
    (note,) = [one for one in told if one["action"] == "confirmation_note"]
    assert note["type"] == "message"
    assert "be quick" in note["message"]
    _until_recorded(home)


def _until_recorded(home: House) -> None:
    """Wait for the record, which is written in batches."""
    while ("mia", "", "allowed", "own act") not in audit(home, "provide_confirmation"):
        with home.http() as http:
            http.get("/tools")


def test_without_an_answer_nothing_runs(home: House) -> None:
    token = home.agent("ant")["session_token"]
    with ThreadPoolExecutor(1) as thread, home.person("max") as person:
        call = thread.submit(home.mcp, "get_my_task", token)
        answer: dict[str, Any] = {
            "confirmation_id": asked(home, call),
            "approved": False,
            "reason": "no",
        }
        assert person.call("provide_confirmation", **answer)["approved"] is False
        assert call.result(timeout=30)["error"]["code"] == "confirmation_denied"
