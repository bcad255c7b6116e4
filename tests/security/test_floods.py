"""One caller floods, and with the settings as they come nobody else is refused or left waiting.

What is asserted are counts: how much of the flood is served while somebody else is. How long that
takes is printed, because it is a matter of the machine.
"""

from __future__ import annotations

import json
import select
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from socket import create_connection, socket
from urllib.parse import urlsplit

import httpx
import pytest

from tests.security.attacked_team import AttackedTeam, serving
from tests.security.callers import Caller, call_of
from tests.security.flooding import CONNECTIONS, Flood, flooding

ASKED = 50
GUESSES = 400
SHARE = 0.1  # of what one connection of the flood gets: the least that others get
SENT_ALONGSIDE = 0.1  # of the guesses: the most that are checked while one agent logs in


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("floods")) as made:
        yield made


def share(flood: Flood, seconds: float) -> float:
    """Compare how often one caller was served with how often one connection of a flood was."""
    return (ASKED / seconds) / (flood.rate / CONNECTIONS)


def asked(act: Callable[[], str]) -> float:
    """Act again and again, which must always succeed; return how many seconds it took."""
    started = time.perf_counter()
    assert [act() for _ in range(ASKED)] == ["ok"] * ASKED
    return time.perf_counter() - started


def test_an_agent_that_floods_takes_nobody_elses_turn(
    team: AttackedTeam, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = team.session("ann", "chat").token or ""
    other = Caller(team, team.session("bob", "chat").token or "")
    with flooding(team.server.url, "/mcp", bad, call_of("list_tasks")) as flood:
        seconds = asked(lambda: other.call("get_my_task"))
        alive = httpx.get(f"{team.server.url}/healthz").json()
    other.close()
    assert alive == {"status": "ok"}
    assert flood.outcomes.keys() == {"ok"}
    assert share(flood, seconds) >= SHARE
    told(capsys, f"{flood.rate:.0f} calls a second, others {ASKED / seconds:.0f}")


def test_a_person_who_floods_takes_nobody_elses_turn(
    team: AttackedTeam, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Caller(team, team.tokens["max"])
    order = {"id": "{n}", "type": "openSession", "payload": {"projectId": "p", "agentId": "bob"}}
    with flooding(team.server.url, "/commands", team.tokens["mia"], order) as flood:
        seconds = asked(other.command)
    other.close()
    assert flood.outcomes.keys() <= {"ok", "rate_limited"}
    assert share(flood, seconds) >= SHARE
    told(capsys, f"{flood.rate:.0f} commands a second, others {ASKED / seconds:.0f}")


def test_guesses_at_one_id_are_held_and_others_log_in_for_the_first_time(
    team: AttackedTeam,
) -> None:
    guess = {"agent_id": "ivy", "passkey": "wrong {n}", "project_id": "p"}
    with flooding(team.server.url, "/mcp", "x", call_of("authenticate", **guess)) as flood:
        assert logged_in(team, "rex") == "ok"
    assert flood.outcomes.keys() == {"invalid_credentials", "rate_limited"}
    assert flood.outcomes["invalid_credentials"] == 5
    assert logged_in(team, "ivy") == "rate_limited"


def test_a_first_login_passes_hundreds_of_guesses_at_ever_new_ids(
    team: AttackedTeam, capsys: pytest.CaptureFixture[str]
) -> None:
    """No limit of one id holds these; each costs tens of milliseconds of argon2."""
    with ExitStack() as stack:
        wires = [stack.enter_context(connected(team)) for _ in range(GUESSES)]
        for number, wire in enumerate(wires):
            wire.sendall(posted(team, f"ghost-{number}"))
        while noted(team) < GUESSES / 2:
            time.sleep(0.01)
        for name in ("cora", "mona"):  # neither has been here since the start
            before, started = answered(wires), time.perf_counter()
            assert logged_in(team, name) == "ok"
            alongside, seconds = answered(wires) - before, time.perf_counter() - started
            assert GUESSES - before > GUESSES / 4  # or there was nothing to pass
            assert alongside <= GUESSES * SENT_ALONGSIDE
            told(capsys, f"{seconds * 1e3:.0f} ms for a first login, {alongside} guesses meanwhile")


def logged_in(team: AttackedTeam, name: str) -> str:
    """Log in with the right passkey; return ``ok`` or the code."""
    caller = Caller(team, "x")
    right = {"agent_id": name, "passkey": team.passkeys[name], "project_id": "p"}
    code = caller.call("authenticate", **right)
    caller.close()
    return code


def connected(team: AttackedTeam) -> socket:
    at = urlsplit(team.server.url)
    return create_connection((at.hostname, at.port), timeout=60)


def posted(team: AttackedTeam, agent_id: str) -> bytes:
    """Return a guess as it goes over the wire."""
    guess = {"agent_id": agent_id, "passkey": "wrong", "project_id": "p"}
    body = json.dumps(call_of("authenticate", **guess))
    head = {
        "host": urlsplit(team.server.url).netloc,
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "content-length": str(len(body)),
    }
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    return "\r\n".join([*lines, "", body]).encode()


def noted(team: AttackedTeam) -> int:
    """Count the attempts to log in that are on their way or have failed."""
    with sqlite3.connect(team.database) as db:
        count = db.execute("select count(*) from login_attempts").fetchone()[0]
    db.close()
    return int(count)


def answered(wires: list[socket]) -> int:
    """Count the connections on which an answer has come."""
    watch = select.poll()
    for wire in wires:
        watch.register(wire, select.POLLIN)
    return len(watch.poll(0))


def told(capsys: pytest.CaptureFixture[str], what: str) -> None:
    with capsys.disabled():
        print(f"\n{what}")
