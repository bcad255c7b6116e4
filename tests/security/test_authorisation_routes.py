"""Every route and every command of people in every state of the caller, and every login."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest
from aipm_http_server.api import HttpHooks
from aipm_http_server.routing import App

from tests.agents import Agent
from tests.security import grid
from tests.security.attacked_team import AttackedTeam, serving
from tests.security.authorisation_table import (
    COMMAND_STATES,
    COMMANDS,
    LOGINS,
    ROUTE_STATES,
    ROUTE_TABLE,
    WORDS,
)
from tests.security.installed import installed
from tests.security.routes import Routes
from tests.security.snapshot import untouched

ROUTES = grid.read(ROUTE_TABLE, WORDS)
ORDERS = grid.read(COMMANDS, WORDS)
# What is refused first: what is allowed lets agents work on beside the tests that follow.
ROUTE_ATTEMPTS = sorted(
    ((route, state) for route, row in ROUTES.items() for state in row),
    key=lambda cell: ROUTES[cell[0]][cell[1]] == "ok",
)
GIVEN = sorted(
    ((order, state) for order, row in ORDERS.items() for state in row),
    key=lambda cell: (ORDERS[cell[0]][cell[1]] == "ok", cell[0] == "provideConfirmation"),
)
KEYS = {name: row["outcome"] for name, row in grid.read(LOGINS, WORDS).items()}
SETTINGS = """
[plugins.ui_gateway]
auth_seconds = 0.2
[[plugins.policy.rules]]
tool = "file:*"
decision = "REQUIRE_USER_CONFIRMATION"
"""
PEOPLE = {"elsewhere": "quentin", "beside": "max", "right": "mia"}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("doors"), SETTINGS) as made:
        with closing(sqlite3.connect(made.database)) as connection, connection:
            # A minute ago: what expired long ago is swept away beside the tests.
            sql = "update ui_tokens set expires_at = ? where id = ?"
            connection.execute(sql, (time.time() - 60, made.token_ids["expired"]))
        yield made


@pytest.fixture(scope="module")
def routes(team: AttackedTeam) -> Iterator[Routes]:
    with closing(Routes(team)) as made:
        yield made


def test_every_route_and_every_state_is_in_the_table() -> None:
    runtime = installed()
    app = App(runtime, runtime.store, runtime.given(HttpHooks.aipm_routes))
    plain = {f"{method} {path}" for path, methods in app._plain.items() for method in methods}
    placed = {
        f"{'WEBSOCKET' if owned.record.websocket else method} {owned.record.path}"
        for owned in runtime.given(HttpHooks.aipm_routes)
        for method in owned.record.methods
    }
    assert plain | placed == ROUTES.keys()
    for route, row in ROUTES.items():
        assert row.keys() == ROUTE_STATES.keys(), route


@pytest.mark.parametrize(("route", "state"), ROUTE_ATTEMPTS)
def test_a_route_in_a_state(team: AttackedTeam, routes: Routes, route: str, state: str) -> None:
    wanted = ROUTES[route][state]
    with untouched(team.database, unless=wanted == "ok"):
        assert routes.attempt(route, state) == {wanted}


def test_every_command_is_in_the_table(team: AttackedTeam) -> None:
    schema = httpx.get(f"{team.server.url}/schema/events.json").json()
    assert schema["commands"].keys() == ORDERS.keys()
    for command, row in ORDERS.items():
        assert row.keys() == COMMAND_STATES.keys(), command


@pytest.mark.parametrize("way", ["command", "command_by_socket"])
@pytest.mark.parametrize(("order", "state"), GIVEN)
def test_a_command_in_a_state(
    team: AttackedTeam, routes: Routes, order: str, state: str, way: str
) -> None:
    wanted = ORDERS[order][state]
    payload = _payload(team, routes, order)
    with untouched(team.database, unless=wanted == "ok" or order == "provideConfirmation"):
        reply = getattr(routes, way)(PEOPLE[state], order, payload)
    assert ("ok" if reply["type"] == "ack" else reply["code"]) == wanted


def _payload(team: AttackedTeam, routes: Routes, order: str) -> dict[str, Any]:
    mine = routes.opened("mia")
    if order == "submitUserInput":
        return {"sessionId": mine, "text": "hello"}
    if order == "provideConfirmation":
        return {"confirmationId": _question(team, routes, mine), "approved": False}
    return {"sessionId": mine}


def _question(team: AttackedTeam, routes: Routes, session_id: str) -> str:
    """Let the agent of a session ask whether it may read a file; return the question's id."""
    (team.install.root / "p" / "x").write_text("x")
    text = '!call file:read {"path": "x"}'
    with httpx.stream(
        "GET",
        f"{team.server.url}/events?session={session_id}&lastSeq=0",
        headers={"authorization": f"Bearer {team.tokens['mia']}"},
        timeout=30,
    ) as events:
        routes.command("mia", "submitUserInput", {"sessionId": session_id, "text": text})
        for line in events.iter_lines():
            if "confirmationId" in line:
                return line.partition('"confirmationId":"')[2].partition('"')[0]
    raise AssertionError("nobody was asked")


@pytest.mark.parametrize("credentials", KEYS)
def test_a_login(team: AttackedTeam, credentials: str) -> None:
    """Each for an agent of its own as far as it fails: failures are counted by agent."""
    login = {"agent_id": "rex", "passkey": team.passkeys["rex"], "project_id": "p"}
    login |= _given(team, credentials)
    assert _outcome(team, login) == KEYS[credentials]


def _outcome(team: AttackedTeam, login: dict[str, str]) -> str:
    reply = Agent(team.server.mcp).call("authenticate", **login)
    return "ok" if "result" in reply else str(reply["error"]["code"])


def _given(team: AttackedTeam, credentials: str) -> dict[str, str]:
    simple = {
        "the agent's own passkey": {},
        "another agent's passkey": {"passkey": team.passkeys["ann"]},
        "the right passkey, for a project the agent is not in": {"project_id": "q"},
        "the right passkey, for a project that does not exist": {"project_id": "nowhere"},
        "the passkey of an agent that does not exist": {"agent_id": "nobody"},
        "a person's token for user interfaces": {
            "agent_id": "mia",
            "passkey": team.tokens["mia"],
        },
        "nothing": {"passkey": ""},
    }
    return simple[credentials] if credentials in simple else _prepared(team, credentials)


def _prepared(team: AttackedTeam, credentials: str) -> dict[str, str]:
    match credentials:
        case "a session's token":
            return {"agent_id": "bob", "passkey": team.session("bob", "chat").token or ""}
        case "the passkey it had before it got a new one":
            team.install.run("agent", "rekey", "mona")
            return {"agent_id": "mona", "passkey": team.passkeys["mona"]}
        case "what is stored of the passkey":
            with closing(sqlite3.connect(team.database)) as connection:
                sql = "select passkey_hash from agents where id = 'ivy'"
                return {"agent_id": "ivy", "passkey": connection.execute(sql).fetchone()[0]}
        case "the right passkey, after five wrong ones within a minute":
            login = {"agent_id": "cora", "project_id": "p", "passkey": "wrong"}
            assert [_outcome(team, login) for _ in range(5)] == [WORDS["401"]] * 5
            return {"agent_id": "cora", "passkey": team.passkeys["cora"]}
    raise AssertionError(f"nobody knows how to log in with {credentials}")
