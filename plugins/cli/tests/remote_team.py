"""A server with a team on it, and a second machine from which its people give commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aipm_devkit.program import Install, Server

SETTINGS = 'locale = "en"\n'


@dataclass
class RemoteTeam:
    """``here`` has the server and its store; ``away`` knows an address and a token, no more."""

    here: Install
    away: Install
    server: Server
    tokens: dict[str, str]

    def as_person(self, person: str) -> Install:
        """Return the second machine with a person's token."""
        environ = {"AIPM_SERVER_URL": self.server.url, "AIPM_UI_TOKEN": self.tokens[person]}
        return Install(self.away.root, {**environ, "LANG": "en_US.UTF-8"})

    def both(self, person: str, *command: str) -> tuple[Any, Any]:
        """Give a command here in a person's name and there with the token; return both data."""
        here = self.here.run("--as", person, *command, "--json", check=None)
        away = self.as_person(person).run(*command, "--json", check=None)
        assert here.returncode == away.returncode, (here.stderr, away.stderr)
        if here.returncode:
            return here.stderr, away.stderr
        return json.loads(here.stdout)["data"], json.loads(away.stdout)["data"]


@contextmanager
def remote_team(root: Path, settings: str = SETTINGS) -> Iterator[RemoteTeam]:
    """Run a server with a manager ``mary``, a person ``max``, an agent ``bot`` and a stranger."""
    here = Install.make(root / "here", settings)
    (root / "away").mkdir()
    for command in (
        "project add p --dir work",
        "project add q",
        "agent add mary --project p --type human --role manager",
        "agent add max --project p --type human --parent mary",
        "agent add bot --project p --parent mary",
        "agent add quin --project q --type human --role manager",
    ):
        here.run(*command.split())
    people = ("mary", "max", "quin")
    tokens = {who: here.json("token", "create", "--agent", who)["token"] for who in people}
    with here.up() as server:
        yield RemoteTeam(here, Install(root / "away"), server, tokens)
    assert "Traceback" not in server.log, server.log
