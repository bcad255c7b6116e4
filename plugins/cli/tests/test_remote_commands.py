"""The same commands on another machine: an address, a token, the same answers and exit codes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.remote_team import RemoteTeam, remote_team


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteTeam]:
    with remote_team(tmp_path_factory.mktemp("remote")) as made:
        yield made


def without(data: Any, *names: str) -> Any:
    """Return data without fields that are another at every look."""
    if isinstance(data, list):
        return [without(each, *names) for each in data]
    if isinstance(data, dict):
        return {k: without(v, *names) for k, v in data.items() if k not in names}
    return data


def test_what_is_read_is_the_same_here_and_there(team: RemoteTeam) -> None:
    task = team.here.json("task", "add", "--project", "p", "--title", "Paint", "--assignee", "bot")
    for command in (
        *("project list", "agent list", "agent list --project p", "session list", "inbox"),
        *("task list", f"task show {task['id']}", f"task history {task['id'][:10]}", "status"),
        *("messages bot --project p", "token list"),
    ):
        here, away = team.both("mary", *command.split())
        assert without(here, "used_at") == without(away, "used_at"), command
    assert {one["id"] for one in away} != set()


def test_what_is_refused_is_refused_alike(team: RemoteTeam) -> None:
    for command, code in (
        ("task list --project q", 3),
        ("task show tsk_none", 3),
        ("task add --project p --title x --status sideways", 2),
        ("project add Bad", 2),
        ("project pause q", 3),
    ):
        here, away = team.both("mary", *command.split())
        assert here == away, command
        assert team.as_person("mary").run(*command.split(), check=code).stdout == ""
    here, away = team.both("max", "project", "add", "mine")
    assert here == away
    assert team.as_person("max").run("project", "add", "mine", check=4).stderr == away


def test_the_token_decides_who_it_was_whatever_is_claimed(team: RemoteTeam) -> None:
    max_ = team.as_person("max")
    made = max_.json("task", "add", "--project", "p", "--title", "Max's", "--as", "mary")
    max_.run("task", "edit", made["id"][:12], "--title", "Still Max's", "--as", "mary")
    past = team.here.json("task", "history", made["id"])
    assert [entry["actor_id"] for entry in past] == ["max", "max"]
    assert made["requester_id"] == "max"


def test_a_person_is_named_by_option_variable_or_settings_and_else_it_is_the_operator(
    team: RemoteTeam,
) -> None:
    here = team.here
    task = here.json("task", "add", "--project", "p", "--title", "t")["id"]
    here.run("task", "edit", task, "--title", "a", "--as", "mary")
    here.environ = {"AIPM_AS": "max"}
    here.run("task", "edit", task, "--title", "b")
    here.environ = {"AIPM_PERSON": "mary"}
    here.run("task", "edit", task, "--title", "c")
    here.environ = {}
    past = here.json("task", "history", task)
    assert [entry["actor_id"] for entry in past] == ["operator", "mary", "max", "mary"]
    assert "ghost" in here.run("task", "list", "--as", "ghost", check=3).stderr
    assert "is not a human" in here.run("task", "list", "--as", "bot", check=4).stderr
    assert "reserved" in here.run("agent", "add", "operator", "--project", "p", check=2).stderr


@pytest.mark.parametrize(
    "command",
    ["up", "mcp", "init", "demo", "backup x.db", "restore x.db", "doctor", "plugins new x", "down"],
)
def test_what_only_works_at_the_server_says_so(team: RemoteTeam, command: str) -> None:
    words = command.split()
    said = team.away.run(*words, "--server", team.server.url, check=2).stderr
    assert f"`aipm {' '.join(words[:2]) if words[0] == 'plugins' else words[0]}`" in said
    assert "on the machine of the server only" in said
    assert said.count("\n") == 1
    assert not list(team.away.root.iterdir())


def test_a_server_that_cannot_be_used_is_one_sentence(team: RemoteTeam) -> None:
    away = team.as_person("mary")
    del away.environ["AIPM_UI_TOKEN"]
    assert "AIPM_UI_TOKEN is not set" in away.run("task", "list", check=2).stderr
    away.environ["AIPM_UI_TOKEN"] = f"aipm_ui_{'x' * 43}"
    assert "x" * 20 not in away.run("task", "list", check=4).stderr
    for address, code in (("ftp://x", 2), ("http://127.0.0.1:1", 1), ("https://u:p@x.invalid", 2)):
        said = away.run("task", "list", "--server", address, check=code).stderr
        assert said.startswith("aipm: ")
        assert said.count("\n") == 1


def test_common_options_stand_before_or_behind_the_command(team: RemoteTeam) -> None:
    away, address = team.as_person("mary"), team.server.url
    del away.environ["AIPM_SERVER_URL"]
    for words in (
        ("--server", address, "--json", "project", "list"),
        ("project", "--json", f"--server={address}", "list"),
        ("project", "list", "--json", "--server", address),
    ):
        assert '"id": "p"' in away.run(*words).stdout
    config = str(team.here.root / "aipm.toml")
    assert "p" in away.run("--config", config, "project", "list").stdout.split()
    away.environ["AIPM_CONFIG"] = config
    assert "p" in away.run("project", "list").stdout.split()
    del away.environ["AIPM_CONFIG"]
    below = team.here.root / "work" / "deep"
    below.mkdir()
    away.root = below
    assert "p" in away.run("project", "list").stdout.split()


def test_a_mistyped_command_is_guessed(team: RemoteTeam) -> None:
    assert "Did you mean 'status'?" in team.here.run("stauts", check=2).stderr
    assert "Did you mean 'add'?" in team.here.run("task", "ad", check=2).stderr
