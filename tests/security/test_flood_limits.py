"""One caller floods where limits are set low: it is held to them, and nobody else is refused.

What is asserted are counts. How much slower the others get is printed, because it is a matter of
the machine. What holds without any setting is in ``test_floods.py``.
"""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TypeAlias

import httpx
import pytest
from websockets.sync.client import connect

from tests.security.attacked_team import AttackedTeam, serving
from tests.security.callers import Caller, call_of
from tests.security.flooding import flooding

RATE = 20
SETTINGS = f"""
[server]
max_calls_per_second = {RATE}
[plugins.ui_gateway]
commands_per_second = {RATE}
max_connections_per_person = 3
"""
BURST = 5  # seconds' worth of commands that may come at once
ASKED = 15
Act: TypeAlias = Callable[[], str]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("limits"), SETTINGS) as made:
        yield made


def asked(act: Act) -> tuple[list[str], float]:
    """Act at a pace that is allowed; return the answers and the 95th of their hundred times."""
    answers, times = [], []
    for _ in range(ASKED):
        started = time.perf_counter()
        answers.append(act())
        times.append(time.perf_counter() - started)
        time.sleep(1.5 / RATE)
    return answers, statistics.quantiles(times, n=20)[-1]


def told(capsys: pytest.CaptureFixture[str], what: str, quiet: float, loud: float) -> None:
    with capsys.disabled():
        ratio = loud / quiet
        print(f"\n{what}: others' p95 {quiet * 1e3:.1f} ms, in the flood {loud * 1e3:.1f} ms")
        print(f"  ratio {ratio:.1f}")


def test_an_agent_that_floods_is_held_and_others_are_served(
    team: AttackedTeam, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = team.session("ann", "chat").token or ""
    other = Caller(team, team.session("bob", "chat").token or "")
    before, quiet = asked(lambda: other.call("get_my_task"))
    with flooding(team.server.url, "/mcp", bad, call_of("list_tasks")) as flood:
        answers, loud = asked(lambda: other.call("get_my_task"))
        alive = httpx.get(f"{team.server.url}/healthz").json()
    other.close()
    assert before == answers == ["ok"] * ASKED
    assert alive == {"status": "ok"}
    assert flood.outcomes.keys() == {"ok", "rate_limited"}
    assert flood.outcomes["ok"] <= RATE * (flood.seconds + 1)
    told(capsys, f"{flood.rate:.0f} calls a second", quiet, loud)


def test_a_person_who_floods_is_held_and_others_are_served(
    team: AttackedTeam, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Caller(team, team.tokens["max"])
    before, quiet = asked(other.command)
    order = {"id": "{n}", "type": "openSession", "payload": {"projectId": "p", "agentId": "bob"}}
    with flooding(team.server.url, "/commands", team.tokens["mia"], order) as flood:
        answers, loud = asked(other.command)
    other.close()
    assert before == answers == ["ok"] * ASKED
    assert flood.outcomes.keys() == {"ok", "rate_limited"}
    assert flood.outcomes["ok"] <= RATE * (flood.seconds + BURST)
    told(capsys, f"{flood.rate:.0f} commands a second", quiet, loud)


def test_a_socket_that_floods_is_held_to_the_same_limit(team: AttackedTeam) -> None:
    headers = {"authorization": f"Bearer {team.tokens['quentin']}"}
    order = {"type": "openSession", "payload": {"projectId": "q", "agentId": "qed"}}
    outcomes: Counter[str] = Counter()
    sent = RATE * BURST * 3
    with connect(team.server.ready["ws"], additional_headers=headers, proxy=None) as wire:
        wire.recv(timeout=30)
        started = time.monotonic()
        for number in range(sent):
            wire.send(json.dumps({"id": str(number), **order}))
        answered = 0
        while answered < sent:
            frame = json.loads(wire.recv(timeout=60))
            if frame["type"] in {"ack", "error"}:
                outcomes[frame.get("code", "ok")] += 1
                answered += 1
        seconds = time.monotonic() - started
    assert outcomes.keys() <= {"ok", "rate_limited"}
    assert RATE * BURST <= outcomes["ok"] <= RATE * (seconds + BURST)


def test_connections_of_one_person_are_counted_and_others_find_room(team: AttackedTeam) -> None:
    headers = {"authorization": f"Bearer {team.tokens['mia']}"}
    ws = team.server.ready["ws"]
    with ExitStack() as stack:
        held = [
            stack.enter_context(connect(ws, additional_headers=headers, proxy=None))
            for _ in range(6)
        ]
        first = [json.loads(wire.recv(timeout=30)) for wire in held]
    assert Counter(frame.get("code", frame["type"]) for frame in first) == {
        "ready": 3,
        "too_many_connections": 3,
    }
    other = {"authorization": f"Bearer {team.tokens['max']}"}
    with connect(ws, additional_headers=other, proxy=None) as wire:
        assert json.loads(wire.recv(timeout=30)) == {"type": "ready"}
