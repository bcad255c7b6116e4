"""Every command the program has, on another machine: it works over the API, or says why not."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from aipm_cli import main
from aipm_cli.root import app
from tests.remote_team import SETTINGS, RemoteTeam, remote_team
from typer.core import TyperGroup
from typer.main import get_command

PROGRAM = """
[plugins.runner.programs.maker]
adapter = "command"
command = ["sh", "-c", "echo made > made.txt; echo done it"]
"""
LOCAL = {
    *("aipm init", "aipm up", "aipm down", "aipm logs", "aipm mcp", "aipm demo", "aipm backup"),
    *("aipm restore", "aipm doctor", "aipm plugins new", "aipm plugins check", "aipm db copy"),
    *("aipm plugins trace", "aipm plugins install"),
    "aipm work",  # whoever starts agents elsewhere uses `aipm runner`
}
"""What concerns the machine it is typed on, and nothing else."""
TALKS = {"aipm chat", "aipm runner"}
"""What goes on until somebody ends it; each has tests of its own."""


def leaves(command: Any, path: str = "aipm") -> Iterator[str]:
    """Name every command somebody can type."""
    if not isinstance(command, TyperGroup):
        yield path
        return
    if command.invoke_without_command and path != "aipm":
        yield path
    none: Any = None
    for name in command.list_commands(none):
        yield from leaves(command.get_command(none, name), f"{path} {name}")


EVERY = sorted(leaves(get_command(app)))


@dataclass
class Given:
    """What stands at the places of the commands below."""

    task: str
    other: str
    run: str
    item: str
    grant: str
    message: str


WORDS = {
    "aipm activity": "",
    "aipm agent add": "two --project p",
    "aipm agent assign": "two --project p",
    "aipm agent edit": "two --name Two",
    "aipm agent list": "",
    "aipm agent rekey": "two",
    "aipm agent revoke": "bot agt_none --project p",
    "aipm agent token": "bot --project p",
    "aipm agent tokens": "bot --project p",
    "aipm connect": "claude --agent bot --project p --print",
    "aipm agent remove": "two",
    "aipm agent unassign": "two --project p",
    "aipm announce": "hello",
    "aipm approve": "{item}",
    "aipm audit list": "",
    "aipm audit verify": "",
    "aipm broadcast": "--project p hello --to bot",
    "aipm deny": "{item}",
    "aipm inbox": "",
    "aipm inbox hand-over": "{item} max",
    "aipm inbox snooze": "{item}",
    "aipm mcp-config": "--client claude",
    "aipm messages": "bot --project p",
    "aipm notify": "bot --project p --type message --message hello",
    "aipm open": "--print",
    "aipm plugins": "",
    "aipm plugins info": "tasks",
    "aipm plugins list": "",
    "aipm policy allow": "native:Bash --project p",
    "aipm policy disallow": "rul_none --project p",
    "aipm policy grants": "",
    "aipm policy rules": "--project p",
    "aipm policy try": "- --project p",
    "aipm policy propose": "{item} {{}}",
    "aipm policy revoke": "{grant}",
    "aipm project add": "more",
    "aipm project archive": "more",
    "aipm project delete": "more",
    "aipm project edit": "p --name P",
    "aipm project list": "",
    "aipm project pause": "p",
    "aipm project resume": "p",
    "aipm runs diff": "{run}",
    "aipm runs list": "",
    "aipm runs log": "{run}",
    "aipm runs merge": "{run}",
    "aipm runs show": "{run}",
    "aipm runs start": "maker --project p",
    "aipm runs stop": "{run}",
    "aipm runs undo": "{run}",
    "aipm say": "bot --project p hello",
    "aipm session end": "ses_none",
    "aipm session list": "",
    "aipm status": "",
    "aipm task add": "--project p --title T",
    "aipm task archive": "{other}",
    "aipm task assign": "{task} bot",
    "aipm task delete": "{other}",
    "aipm task depend": "{task}",
    "aipm task edit": "{task} --title U",
    "aipm task history": "{task}",
    "aipm task list": "",
    "aipm task reopen": "{task}",
    "aipm task show": "{task}",
    "aipm task status": "{task} todo",
    "aipm task unassign": "{task}",
    "aipm token create": "",
    "aipm token list": "",
    "aipm token revoke": "tok_none",
    "aipm withdraw": "--project p {message}",
}
REFUSED = {
    "aipm approve": 3,
    "aipm deny": 3,
    "aipm inbox hand-over": 3,
    "aipm inbox snooze": 3,
    "aipm policy disallow": 3,
    "aipm policy propose": 3,
    "aipm policy revoke": 3,
    "aipm runs stop": 4,
    "aipm agent unassign": 3,
    "aipm agent revoke": 3,
    "aipm session end": 3,
    "aipm task archive": 4,
    "aipm task reopen": 4,
    "aipm token revoke": 3,
}
"""What is refused here because of what the server knows: an answer of its own, over the API."""


EITHER = {"aipm runs start": 4, "aipm runs undo": 4}
"""What may be refused as well: what there is to start, and whether it runs, changes by itself."""
SECRETS = {"aipm connect", "aipm mcp-config", "aipm audit verify"}
"""What is copied whole, however long it is."""


def repository(team: RemoteTeam) -> None:
    place = team.here.root / "work"
    for words in (
        ("init", "-q"),
        ("-c", "user.name=t", "-c", "user.email=t@e", "commit", "-qm", "c", "--allow-empty"),
    ):
        subprocess.run(("git", *words), cwd=place, check=True)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RemoteTeam]:
    with remote_team(tmp_path_factory.mktemp("every"), SETTINGS + PROGRAM) as made:
        yield made


@pytest.fixture(scope="module")
def given(team: RemoteTeam) -> Given:
    repository(team)
    mary = team.as_person("mary")
    mary.run("agent", "add", "maker", "--project", "p", "--parent", "mary", "--program", "maker")
    add = ("task", "add", "--project", "p", "--title")
    task, other = mary.json(*add, "a")["id"], mary.json(*add, "b")["id"]
    mary.json(*add, "make", "--assignee", "maker", "--status", "todo")
    while not (ended := [one for one in mary.json("runs", "list") if one["ended_at"]]):
        pass
    mary.run("project", "pause", "p")
    said = mary.json("say", "bot", "--project", "p", "nobody reads this")["id"]
    return Given(task, other, ended[0]["id"], "cnf_none", "grt_none", said)


def run_here(words: Iterable[str]) -> int:
    return main(list(words))


def test_every_command_has_its_words() -> None:
    assert {*WORDS, *LOCAL, *TALKS} == set(EVERY)


@pytest.mark.parametrize("command", [one for one in EVERY if one in WORDS])
def test_it_works_over_the_api(
    team: RemoteTeam,
    given: Given,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(team.away.root)
    monkeypatch.setenv("AIPM_SERVER_URL", team.server.url)
    monkeypatch.setenv("AIPM_UI_TOKEN", team.tokens["mary"])
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    words = f"{command} {WORDS[command]}".format(**vars(given)).split()[1:]
    code = run_here([*words, "--json"])
    told = capsys.readouterr()
    assert "on the machine of the server only" not in told.err
    assert code in (REFUSED.get(command, 0), EITHER.get(command, 0)), told.err
    if code == 0:
        assert json.loads(told.out)["v"] == 1
        assert run_here(words) in (0, 2, 3, 4)  # what was done once may be refused now
        long = [line for line in capsys.readouterr().out.splitlines() if len(line) > 80]
        assert command in SECRETS or not [line for line in long if len(line.split()) > 2], long


@pytest.mark.parametrize("command", sorted(LOCAL))
def test_it_says_that_it_works_at_the_server(
    team: RemoteTeam,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(team.away.root)
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    more = {"copy": ["--to", "sqlite"]}.get(command.rpartition(" ")[2], [])
    more = (
        ["x"]
        if command.rpartition(" ")[2] in ("backup", "restore", "new", "check", "install")
        else more
    )
    code = run_here([*command.split()[1:], *more, "--server", team.server.url])
    told = capsys.readouterr().err
    assert (code, told.count("\n")) == (2, 1)
    assert f"`{command}` works on the machine of the server only" in told
    assert not list(team.away.root.iterdir())
