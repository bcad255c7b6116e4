"""One caller floods: it is held to its limit, and nobody else is refused or left waiting.

What is asserted are counts. How much slower the others get is printed, because it is a matter of
the machine.
"""

from __future__ import annotations

import json
import secrets
import statistics
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias

import httpx
import pytest
from websockets.sync.client import connect

from tests.abuse.cast import Cast, on_stage

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
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        reply = self._http.post("/mcp", json=message).json()["result"]["structuredContent"]
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


class Flood:
    """Threads that act without a pause, and what they were answered."""

    def __init__(self, *acts: Act) -> None:
        self.outcomes: Counter[str] = Counter()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._act, args=(act,)) for act in acts]

    @contextmanager
    def rising(self) -> Iterator[None]:
        """Flood while the block runs; ``seconds`` is how long it took."""
        started = time.monotonic()
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join()
            self.seconds = time.monotonic() - started

    def _act(self, act: Act) -> None:
        while not self._over.is_set():
            self.outcomes[act()] += 1


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
    flooders = [Caller(cast, bad) for _ in range(4)]
    time.sleep(1)  # a bucket that is full again
    before, quiet = asked(lambda: other.call("get_my_task"))
    flood = Flood(*(lambda one=one: one.call("list_tasks") for one in flooders))
    with flood.rising():
        answers, loud = asked(lambda: other.call("get_my_task"))
        people = httpx.get(f"{cast.server.url}/healthz").json()
    for caller in (other, *flooders):
        caller.close()
    assert before == answers == ["ok"] * ASKED
    assert people == {"status": "ok"}
    assert flood.outcomes.keys() == {"ok", "rate_limited"}
    assert flood.outcomes["ok"] <= RATE * (flood.seconds + 1)
    assert flood.outcomes["rate_limited"] > 5 * flood.outcomes["ok"]
    told(capsys, f"{sum(flood.outcomes.values()) / flood.seconds:.0f} calls a second", quiet, loud)


def test_a_person_who_floods_is_held_and_others_are_served(
    cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    flooders = [Caller(cast, cast.tokens["mia"]) for _ in range(4)]
    other = Caller(cast, cast.tokens["max"])
    before, quiet = asked(other.command)
    flood = Flood(*(one.command for one in flooders))
    with flood.rising():
        answers, loud = asked(other.command)
    for caller in (other, *flooders):
        caller.close()
    assert before == answers == ["ok"] * ASKED
    assert flood.outcomes.keys() == {"ok", "rate_limited"}
    assert flood.outcomes["ok"] <= RATE * (flood.seconds + BURST)
    told(
        capsys, f"{sum(flood.outcomes.values()) / flood.seconds:.0f} commands a second", quiet, loud
    )


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


def test_guesses_are_held_and_others_log_in(cast: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    """Each guess costs 50 ms of argon2, so that a flood of them is the worst there is."""
    guessers, other = [Caller(cast, "x") for _ in range(4)], Caller(cast, "x")
    right = {"agent_id": "rex", "passkey": cast.passkeys["rex"], "project_id": "p"}
    _, quiet = asked(lambda: other.call("authenticate", **right))

    def guess(one: Caller) -> Act:
        return lambda: one.call("authenticate", agent_id="ivy", passkey="wrong", project_id="p")

    flood = Flood(*(guess(one) for one in guessers))
    with flood.rising():
        answers, loud = asked(lambda: other.call("authenticate", **right))
    assert answers == ["ok"] * ASKED
    assert flood.outcomes["invalid_credentials"] == 5
    assert flood.outcomes.keys() == {"invalid_credentials", "rate_limited"}
    locked = {**right, "agent_id": "ivy", "passkey": cast.passkeys["ivy"]}
    assert other.call("authenticate", **locked) == "rate_limited"
    for caller in (other, *guessers):
        caller.close()
    told(
        capsys, f"{sum(flood.outcomes.values()) / flood.seconds:.0f} guesses a second", quiet, loud
    )
