"""Every tool in every state of its caller: the table holds, and it is whole."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.abuse import grid
from tests.abuse.attempts import PRIVATE, PROJECT, TASK_TOOLS, Attempts
from tests.abuse.authorisation_table import TOOL_STATES, TOOLS, WORDS
from tests.abuse.cast import Cast, on_stage
from tests.abuse.installed import installed
from tests.abuse.principals import Principals
from tests.abuse.snapshot import untouched

TABLE = grid.read(TOOLS, WORDS)
CELLS = [(tool, state) for tool, row in TABLE.items() for state in row]


@pytest.fixture(scope="module")
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    with on_stage(tmp_path_factory.mktemp("authorisation")) as made:
        yield made


@pytest.fixture(scope="module")
def principals(cast: Cast) -> Principals:
    return Principals(cast)


@pytest.fixture(scope="module")
def attempts(cast: Cast, principals: Principals) -> Attempts:
    return Attempts(cast, principals)


def test_every_tool_and_every_state_is_in_the_table() -> None:
    assert {registered.tool.name for registered in installed().registered()} == TABLE.keys()
    for tool, row in TABLE.items():
        assert row.keys() == TOOL_STATES.keys(), tool


@pytest.mark.parametrize(("tool", "state"), CELLS)
def test_a_tool_in_a_state(
    cast: Cast, principals: Principals, attempts: Attempts, tool: str, state: str
) -> None:
    purpose = "task" if tool in TASK_TOOLS else "chat"
    owner = "boss" if state.startswith("boss") or tool.endswith("_task_request") else "ann"
    caller = principals.caller(state, tool, purpose)
    given = attempts.arguments(tool, owner, anew=TABLE[tool][state] == "ok")
    if tool == "authenticate" and state in ("beside", "elsewhere"):
        given["passkey"] = cast.passkeys["quinn" if state == "elsewhere" else "mona"]
    with untouched(cast.database, unless=TABLE[tool][state] == "ok"):
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
