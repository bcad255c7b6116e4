"""Every route and every command of people in every state of the caller, and every login."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from aipm_core.server.app import App
from tests.abuse import grid
from tests.abuse.authorisation_table import (
    COMMAND_STATES,
    COMMANDS,
    DOOR_STATES,
    DOORS,
    LOGINS,
    WORDS,
)
from tests.abuse.cast import Cast, on_stage
from tests.abuse.doors import Doors
from tests.abuse.installed import installed
from tests.abuse.snapshot import untouched
from tests.agents import Agent

ROUTES = grid.read(DOORS, WORDS)
ORDERS = grid.read(COMMANDS, WORDS)
# What is refused first: what is allowed lets agents work on beside the tests that follow.
KNOCKS = sorted(
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
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    with on_stage(tmp_path_factory.mktemp("doors"), SETTINGS) as made:
        with closing(sqlite3.connect(made.database)) as connection, connection:
            sql = "update ui_tokens set expires_at = 0 where id = ?"
            connection.execute(sql, (made.token_ids["expired"],))
        yield made


@pytest.fixture(scope="module")
def doors(cast: Cast) -> Iterator[Doors]:
    with closing(Doors(cast)) as made:
        yield made


def test_every_route_and_every_state_is_in_the_table() -> None:
    runtime = installed()
    app = App(runtime, runtime.store, runtime.routes)
    plain = {f"{method} {path}" for path, methods in app._plain.items() for method in methods}
    placed = {
        f"{'WEBSOCKET' if owned.record.websocket else method} {owned.record.path}"
        for owned in runtime.routes
        for method in owned.record.methods
    }
    assert plain | placed == ROUTES.keys()
    for route, row in ROUTES.items():
        assert row.keys() == DOOR_STATES.keys(), route


@pytest.mark.parametrize(("route", "state"), KNOCKS)
def test_a_route_in_a_state(cast: Cast, doors: Doors, route: str, state: str) -> None:
    wanted = ROUTES[route][state]
    with untouched(cast.database, unless=wanted == "ok"):
        assert doors.knock(route, state) == {wanted}


def test_every_command_is_in_the_table(cast: Cast) -> None:
    schema = httpx.get(f"{cast.server.url}/schema/events.json").json()
    assert schema["commands"].keys() == ORDERS.keys()
    for command, row in ORDERS.items():
        assert row.keys() == COMMAND_STATES.keys(), command


@pytest.mark.parametrize("way", ["command", "command_by_socket"])
@pytest.mark.parametrize(("order", "state"), GIVEN)
def test_a_command_in_a_state(cast: Cast, doors: Doors, order: str, state: str, way: str) -> None:
    wanted = ORDERS[order][state]
    payload = _payload(cast, doors, order)
    with untouched(cast.database, unless=wanted == "ok" or order == "provideConfirmation"):
        reply = getattr(doors, way)(PEOPLE[state], order, payload)
    assert ("ok" if reply["type"] == "ack" else reply["code"]) == wanted


def _payload(cast: Cast, doors: Doors, order: str) -> dict[str, Any]:
    mine = doors.opened("mia")
    if order == "submitUserInput":
        return {"sessionId": mine, "text": "hello"}
    if order == "provideConfirmation":
        return {"confirmationId": _question(cast, doors, mine), "approved": False}
    return {"sessionId": mine}


def _question(cast: Cast, doors: Doors, session_id: str) -> str:
    """Let the agent of a session ask whether it may read a file; return the question's id."""
    (cast.install.root / "p" / "x").write_text("x")
    text = '!call file:read {"path": "x"}'
    with httpx.stream(
        "GET",
        f"{cast.server.url}/events?session={session_id}&lastSeq=0",
        headers={"authorization": f"Bearer {cast.tokens['mia']}"},
        timeout=30,
    ) as events:
        doors.command("mia", "submitUserInput", {"sessionId": session_id, "text": text})
        for line in events.iter_lines():
            if "confirmationId" in line:
                return line.partition('"confirmationId":"')[2].partition('"')[0]
    raise AssertionError("nobody was asked")


@pytest.mark.parametrize("credentials", KEYS)
def test_a_login(cast: Cast, credentials: str) -> None:
    """Each for an agent of its own as far as it fails: failures are counted by agent."""
    login = {"agent_id": "rex", "passkey": cast.passkeys["rex"], "project_id": "p"}
    login |= _given(cast, credentials)
    assert _outcome(cast, login) == KEYS[credentials]


def _outcome(cast: Cast, login: dict[str, str]) -> str:
    reply = Agent(cast.server.mcp).call("authenticate", **login)
    return "ok" if "result" in reply else str(reply["error"]["code"])


def _given(cast: Cast, credentials: str) -> dict[str, str]:
    simple = {
        "the agent's own passkey": {},
        "another agent's passkey": {"passkey": cast.passkeys["ann"]},
        "the right passkey, for a project the agent is not in": {"project_id": "q"},
        "the right passkey, for a project that does not exist": {"project_id": "nowhere"},
        "the passkey of an agent that does not exist": {"agent_id": "nobody"},
        "a person's token for user interfaces": {
            "agent_id": "mia",
            "passkey": cast.tokens["mia"],
        },
        "nothing": {"passkey": ""},
    }
    return simple[credentials] if credentials in simple else _prepared(cast, credentials)


def _prepared(cast: Cast, credentials: str) -> dict[str, str]:
    match credentials:
        case "a session's token":
            return {"agent_id": "bob", "passkey": cast.session("bob", "chat").token or ""}
        case "the passkey it had before it got a new one":
            cast.install.run("agent", "rekey", "mona")
            return {"agent_id": "mona", "passkey": cast.passkeys["mona"]}
        case "what is stored of the passkey":
            with closing(sqlite3.connect(cast.database)) as connection:
                sql = "select passkey_hash from agents where id = 'ivy'"
                return {"agent_id": "ivy", "passkey": connection.execute(sql).fetchone()[0]}
        case "the right passkey, after five wrong ones within a minute":
            login = {"agent_id": "cora", "project_id": "p", "passkey": "wrong"}
            assert [_outcome(cast, login) for _ in range(5)] == [WORDS["401"]] * 5
            return {"agent_id": "cora", "passkey": cast.passkeys["cora"]}
    raise AssertionError(f"nobody knows how to log in with {credentials}")
