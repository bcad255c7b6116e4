"""Every tool in every state of its caller: the table holds, and it is whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.security import grid
from tests.security.attacked_team import AttackedTeam, serving
from tests.security.attempts import PRIVATE, PROJECT, TASK_TOOLS, Attempts
from tests.security.authorisation_table import TOOL_STATES, TOOLS, WORDS
from tests.security.installed import installed
from tests.security.principals import Principals
from tests.security.snapshot import untouched

TABLE = grid.read(TOOLS, WORDS)
CELLS = [(tool, state) for tool, row in TABLE.items() for state in row]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("authorisation")) as made:
        yield made


@pytest.fixture(scope="module")
def principals(team: AttackedTeam) -> Principals:
    return Principals(team)


@pytest.fixture(scope="module")
def attempts(team: AttackedTeam, principals: Principals) -> Attempts:
    return Attempts(team, principals)


def test_every_tool_and_every_state_is_in_the_table() -> None:
    every = [found.tool for found in installed().registered()]
    assert {tool.name for tool in every if tool.audience != "ui"} == TABLE.keys()
    for tool, row in TABLE.items():
        assert row.keys() == TOOL_STATES.keys(), tool


@pytest.mark.parametrize(("tool", "state"), CELLS)
def test_a_tool_in_a_state(
    team: AttackedTeam, principals: Principals, attempts: Attempts, tool: str, state: str
) -> None:
    purpose = "task" if tool in TASK_TOOLS else "chat"
    owner = "boss" if state.startswith("boss") or tool.endswith("_task_request") else "ann"
    caller = principals.caller(state, tool, purpose)
    given = attempts.arguments(tool, owner, anew=TABLE[tool][state] == "ok")
    if tool == "authenticate" and state in ("beside", "elsewhere"):
        given["passkey"] = team.passkeys["quinn" if state == "elsewhere" else "mona"]
    with untouched(team.database, unless=TABLE[tool][state] == "ok"):
        reply = caller.call(tool, **given)
    assert _outcome(reply) == TABLE[tool][state], reply
    if state in ("beside", "elsewhere"):
        assert PRIVATE not in str(reply)
    if state == "elsewhere":
        assert PROJECT not in str(reply)


def _outcome(reply: dict[str, object]) -> str:
    if "result" in reply:
        return "ok"
    if "replaced" in reply:
        return "replaced"
    error = reply["error"]
    assert isinstance(error, dict)
    return str(error["data"]["code"] if "data" in error else error["code"])
