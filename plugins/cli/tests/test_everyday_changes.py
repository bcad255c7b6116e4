"""What a team changes on its second day, from another machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from aipm_devkit.program import Install
from tests.remote_team import SETTINGS, RemoteTeam, remote_team

from tests.agents import Agent, log_in

RULES = (
    SETTINGS
    + """
[[plugins.policy.rules]]
tool = "get_my_task"
decision = "REQUIRE_USER_CONFIRMATION"
message = "Look twice, please."
"""
)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteTeam]:
    with remote_team(tmp_path_factory.mktemp("changes"), RULES) as made:
        yield made


@pytest.fixture
def mary(team: RemoteTeam) -> Install:
    return team.as_person("mary")


def added(mary: Install, title: str, *more: str) -> str:
    return str(mary.json("task", "add", "--project", "p", "--title", title, *more)["id"])


def agent(team: RemoteTeam, name: str) -> Agent:
    """Add an agent and log it in for a task."""
    made = team.here.json("agent", "add", name, "--project", "p", "--parent", "mary")
    return log_in(team.server.mcp, name, made["passkey"], "task")


def test_a_task_is_edited_given_away_finished_opened_again_and_deleted(mary: Install) -> None:
    task, first = added(mary, "Paint"), added(mary, "Buy paint")
    assert mary.json("task", "edit", task, "--title", "Paint it", "--priority", "high")["title"]
    assert mary.json("task", "assign", task, "bot")["assignee_id"] == "bot"
    assert mary.json("task", "unassign", task)["assignee_id"] is None
    mary.run("task", "depend", task, first[:12])
    assert first in mary.run("task", "show", task).stdout
    assert "dep" in mary.run("task", "status", task, "in_progress", check=4).stderr
    assert "neither would ever" in mary.run("task", "depend", first, task, check=4).stderr
    mary.run("task", "depend", task)
    mary.run("task", "status", task, "in_progress")
    assert "in progress" in mary.run("task", "delete", task, check=4).stderr
    assert "done or cancelled" in mary.run("task", "reopen", task, check=4).stderr
    mary.run("task", "status", task, "done")
    mary.run("task", "status", task, "todo", check=4)  # final in the table
    assert mary.json("task", "reopen", task, "--reason", "not dry")["status"] == "todo"
    past = mary.json("task", "history", task)
    assert (past[-1]["what"], past[-1]["actor_id"], past[-1]["reason"]) == (
        *("reopened", "mary"),
        "not dry",
    )
    mary.run("task", "status", task, "cancelled")
    mary.run("task", "archive", task)
    listed = [one["id"] for one in mary.json("task", "list")]
    assert task not in listed
    assert task in [one["id"] for one in mary.json("task", "list", "--all")]
    mary.run("task", "archive", task, "--undo")
    assert mary.json("task", "delete", task) == {"id": task}
    mary.run("task", "show", task, check=3)


def test_a_beginning_of_an_id_is_enough_while_it_is_one_tasks(mary: Install) -> None:
    task = added(mary, "one")
    assert mary.json("task", "show", task[:14])["id"] == task
    added(mary, "two")
    said = mary.run("task", "show", "tsk_", check=2).stderr
    assert "several" in said
    assert mary.run("task", "show", "", check=2).stderr.count("\n") == 1


def test_a_project_moves_and_its_chat_goes_on(team: RemoteTeam, mary: Install) -> None:
    mary.run("say", "bot", "--project", "p", "before")
    place = team.here.root / "elsewhere"
    assert mary.json("project", "edit", "p", "--dir", str(place))["directory"] == str(place)
    mary.run("say", "bot", "--project", "p", "behind")
    lines = (place / ".ai-pm/agents/bot/chat.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["content"] for line in lines] == ["before", "behind"]
    assert "whole path" in mary.run("project", "edit", "p", "--dir", "rel", check=2).stderr
    assert mary.json("project", "edit", "p", "--name", "Painting")["name"] == "Painting"


def test_a_project_is_put_away_and_only_then_deleted(team: RemoteTeam, mary: Install) -> None:
    mary.run("project", "add", "gone")
    assert "Archive it first" in mary.run("project", "delete", "gone", check=4).stderr
    assert mary.json("project", "archive", "gone")["archived"] is True
    assert "gone" not in [one["id"] for one in mary.json("project", "list")]
    assert "gone" in [one["id"] for one in mary.json("project", "list", "--all")]
    assert mary.json("project", "archive", "gone", "--undo")["paused"] is False
    mary.run("project", "archive", "gone")
    assert mary.json("project", "delete", "gone") == {"id": "gone"}
    for install in (mary, team.here):
        assert "gone" not in [one["id"] for one in install.json("project", "list", "--all")]
    assert "taken" in mary.run("project", "add", "gone", check=4).stderr


def test_who_leaves_leaves_no_task_no_session_and_no_way_back(
    team: RemoteTeam, mary: Install
) -> None:
    ann = agent(team, "ann")
    task = added(mary, "hers", "--assignee", "ann", "--status", "in_progress")
    assert mary.json("agent", "unassign", "ann", "--project", "p")["id"] == "ann"
    left = mary.json("task", "show", task)
    assert (left["assignee_id"], left["status"]) == (None, "todo")
    assert ann.call("list_tasks")["error"]["code"] == "session_invalid"
    assert "yourself" in mary.run("agent", "unassign", "mary", "--project", "p", check=4).stderr
    bea = agent(team, "bea")
    assert mary.json("agent", "edit", "bea", "--name", "Bea", "--role", "manager")["name"] == "Bea"
    mary.run("agent", "remove", "bea")
    assert bea.call("list_tasks")["error"]["code"] == "session_invalid"
    assert "bea" not in [one["id"] for one in team.here.json("agent", "list")]
    mary.run("agent", "remove", "bea", check=3)
    assert "taken" in mary.run("agent", "add", "bea", "--project", "p", check=4).stderr


def test_a_token_ends_on_its_day_and_tells_when_it_was_used(mary: Install) -> None:
    made = mary.json("token", "create", "--days", "2")
    rows = {row["id"]: row for row in mary.json("token", "list")}
    assert rows[made["id"]]["used_at"] is None
    assert any(row["used_at"] for row in rows.values())
    shown = mary.run("token", "list").stdout
    assert "+1d" in shown
    assert mary.json("token", "revoke", made["id"][:12])["id"] == made["id"]
    mary.run("token", "create", "--days", "0", check=2)


def test_an_answer_carries_a_note_and_holds_for_the_session(
    team: RemoteTeam, mary: Install
) -> None:
    cat = agent(team, "cat")
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(cat.call, "get_my_task")
        while not (waiting := mary.json("inbox")):
            assert not call.done(), call.result()
        shown = mary.run("inbox").stdout
        assert "Look twice, please." in shown
        assert max(map(len, shown.splitlines())) <= 80
        item = waiting[0]["id"]
        mary.run("inbox", "snooze", item[:12], "--until", "2h")
        assert mary.json("inbox")[0]["snoozed_until"]
        mary.run("inbox", "hand-over", item[:12], "max", "--note", "yours")
        assert mary.json("inbox") == []
        max_ = team.as_person("max")
        assert max_.json("inbox")[0]["hand_over_note"] == "yours"
        max_.run("approve", item[:12], "--note", "be quick", "--scope", "session")
        assert "result" in call.result(timeout=60)
    assert "result" in cat.call("get_my_task")  # not asked again
    told = cat.result("get_notifications")["notifications"]
    assert any("be quick" in one["message"] for one in told)
    max_.run("approve", item, check=4)
    (entry,) = [e for e in team.here.json("audit", "list") if e.get("human_decision") == "approved"]
    assert entry["human_id"] == "max"


def test_one_message_for_everybody(team: RemoteTeam, mary: Install) -> None:
    sent = mary.json("broadcast", "--project", "p", "lunch", "--to", "bot", "--to", "max")
    assert sorted(sent["target_agent_ids"]) == ["bot", "max"]
    assert "lunch" in mary.run("messages", "bot", "--project", "p").stdout
    said = team.here.run("broadcast", "--project", "p", "x", check=2).stderr
    assert "--as PERSON" in said


def test_sessions_are_ended_from_afar(team: RemoteTeam, mary: Install) -> None:
    eli = agent(team, "eli")
    (row,) = [one for one in mary.json("session", "list") if one["agent_id"] == "eli"]
    quin = team.as_person("quin")
    assert quin.json("session", "list") == []
    quin.run("session", "end", row["id"], check=3)
    mary.run("session", "end", row["id"][:12])
    assert eli.call("list_tasks")["error"]["code"] == "session_invalid"


def test_a_server_in_the_background(tmp_path: Path) -> None:
    install = Install.make(tmp_path, SETTINGS)
    install.run("project", "add", "p")
    install.run("agent", "add", "ann", "--project", "p", "--type", "human")
    assert "no server is running" in install.run("down", check=3).stderr
    assert "there is no" in install.run("logs", check=3).stderr
    begun = install.run("up", "-d", "--port", "0", "--json", "-v")
    ready = json.loads(begun.stdout)
    assert begun.stderr == ""
    try:
        assert install.json("open", "--print")["url"].startswith(f"{ready['url']}/#code=")
        assert "runs at" in install.run("up", "-d", check=2).stderr
        assert "listening on" in install.run("logs").stdout
    finally:
        assert install.json("down")["url"] == ready["url"]
    install.run("down", check=3)
    taken = install.run("up", "-d", "--host", "192.0.2.1", check=2).stderr
    assert "did not start" in taken
    assert taken.count("\n") == 1
