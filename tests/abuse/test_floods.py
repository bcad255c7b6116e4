"""One caller floods: it is held to its limit, and nobody else is refused or left waiting.

What is asserted are counts. How much slower the others get is printed, because it is a matter of
the machine.
"""

from __future__ import annotations

import json
import secrets
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeAlias

import httpx
import pytest
from websockets.sync.client import connect

from tests.abuse.cast import Cast, on_stage
from tests.abuse.flooding import Flood, flooding

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
def cast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cast]:
    with on_stage(tmp_path_factory.mktemp("floods"), SETTINGS) as made:
        yield made


class Caller:
    """Somebody with a connection that stays open."""

    def __init__(self, cast: Cast, token: str) -> None:
        headers = {
            "authorization": f"Bearer {token}",
            "accept": "application/json, text/event-stream",
        }
        self._http = httpx.Client(base_url=cast.server.url, timeout=60, headers=headers)

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool; return ``ok`` or the code."""
        reply = self._http.post("/mcp", json=_call(tool, **arguments)).json()["result"][
            "structuredContent"
        ]
        return "ok" if "result" in reply else str(reply["error"]["code"])

    def command(self) -> str:
        """Give a command; return ``ok`` or the code."""
        payload = {"projectId": "p", "agentId": "bob"}
        order = {"id": secrets.token_hex(8), "type": "openSession", "payload": payload}
        reply = self._http.post("/commands", json=order)
        assert reply.status_code in {200, 429}
        return "ok" if reply.is_success else str(reply.json()["code"])

    def close(self) -> None:
        self._http.close()


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
    cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = cast.session("ann", "chat").token or ""
    other = Caller(cast, cast.session("bob", "chat").token or "")
    before, quiet = asked(lambda: other.call("get_my_task"))
    with flooding(cast.server.url, "/mcp", bad, _call("list_tasks")) as flood:
        answers, loud = asked(lambda: other.call("get_my_task"))
        alive = httpx.get(f"{cast.server.url}/healthz").json()
    other.close()
    assert before == answers == ["ok"] * ASKED
    assert alive == {"status": "ok"}
    assert flood.outcomes.keys() == {"ok", "rate_limited"}
    assert flood.outcomes["ok"] <= RATE * (flood.seconds + 1)
    told(capsys, f"{flood.rate:.0f} calls a second", quiet, loud)


def test_a_person_who_floods_is_held_and_others_are_served(
    cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Caller(cast, cast.tokens["max"])
    before, quiet = asked(other.command)
    order = {"id": "{n}", "type": "openSession", "payload": {"projectId": "p", "agentId": "bob"}}
    with flooding(cast.server.url, "/commands", cast.tokens["mia"], order) as flood:
        answers, loud = asked(other.command)
    other.close()
    assert before == answers == ["ok"] * ASKED
    assert flood.outcomes.keys() == {"ok", "rate_limited"}
    assert flood.outcomes["ok"] <= RATE * (flood.seconds + BURST)
    told(capsys, f"{flood.rate:.0f} commands a second", quiet, loud)


def test_a_socket_that_floods_is_held_to_the_same_limit(cast: Cast) -> None:
    headers = {"authorization": f"Bearer {cast.tokens['quentin']}"}
    order = {"type": "openSession", "payload": {"projectId": "q", "agentId": "qed"}}
    outcomes: Counter[str] = Counter()
    sent = RATE * BURST * 3
    with connect(cast.server.ready["ws"], additional_headers=headers, proxy=None) as wire:
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


def test_connections_of_one_person_are_counted_and_others_find_room(cast: Cast) -> None:
    headers = {"authorization": f"Bearer {cast.tokens['mia']}"}
    ws = cast.server.ready["ws"]
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
    other = {"authorization": f"Bearer {cast.tokens['max']}"}
    with connect(ws, additional_headers=other, proxy=None) as wire:
        assert json.loads(wire.recv(timeout=30)) == {"type": "ready"}


def guessing(cast: Cast, guess: dict[str, str]) -> tuple[Flood, float, float]:
    """Let somebody guess while ``rex`` logs in; return the flood, and his p95 before and in it."""
    right = {"agent_id": "rex", "passkey": cast.passkeys["rex"], "project_id": "p"}
    other = Caller(cast, "x")
    _, quiet = asked(lambda: other.call("authenticate", **right))
    with flooding(cast.server.url, "/mcp", "x", _call("authenticate", **guess)) as flood:
        answers, loud = asked(lambda: other.call("authenticate", **right))
    other.close()
    assert answers == ["ok"] * ASKED
    return flood, quiet, loud


def test_guesses_are_held_and_others_log_in(cast: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    """Each guess costs tens of milliseconds of argon2: no flood is worse."""
    guess = {"agent_id": "ivy", "passkey": "wrong {n}", "project_id": "p"}
    flood, quiet, loud = guessing(cast, guess)
    assert flood.outcomes.keys() == {"invalid_credentials", "rate_limited"}
    assert flood.outcomes["invalid_credentials"] == 5
    owner = Caller(cast, "x")
    assert (
        owner.call("authenticate", **{**guess, "passkey": cast.passkeys["ivy"]}) == "rate_limited"
    )
    owner.close()
    told(capsys, f"{flood.rate:.0f} guesses a second", quiet, loud)


def test_guesses_at_ever_new_ids_leave_room_for_those_who_belong_here(
    cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    """No limit of one id holds these; they wait for each other, and for nobody else."""
    guess = {"agent_id": "ghost-{n}", "passkey": "wrong", "project_id": "p"}
    flood, quiet, loud = guessing(cast, guess)
    assert flood.outcomes.keys() == {"invalid_credentials"}
    told(capsys, f"{flood.rate:.0f} guesses at new ids a second", quiet, loud)


def _call(tool: str, **arguments: str) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
