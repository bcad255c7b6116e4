"""Clients that wait, leave, change their minds, or are many."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from signal import SIGTERM
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from aipm_devkit.program import Server
from aipm_mcp_fixtures.wire import ERAS, HELLO, Era, HttpFront, call, headers_of, request


def waiting(http: HttpFront) -> int:
    counted = http.ask(call("legacy", "probe_waiting"))["result"]["structuredContent"]
    number: int = counted["result"]["waiting"]
    return number


def until(condition: Callable[[], bool]) -> None:
    """Ask again until it is so; the test's own time limit ends a wait in vain."""
    while not condition():
        pass


def events_of(answer: httpx.Response) -> Any:
    for line in answer.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line[6:])


def posted(server: Server, message: Any) -> socket.socket:
    """Send a request over a socket of its own and leave the answer unread."""
    body = json.dumps(message).encode()
    where = urlsplit(server.mcp)
    head = {**headers_of(message), "host": where.netloc, "content-length": str(len(body))}
    fields = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    made = socket.create_connection((where.hostname, where.port))
    made.sendall(f"POST /mcp HTTP/1.1\r\n{fields}\r\n".encode() + body)
    return made


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_leaves_ends_its_poll(server: Server, http: HttpFront, era: Era) -> None:
    connection = posted(server, call(era, "probe_wait", {"seconds": 100}))
    until(lambda: waiting(http) == 1)
    connection.close()
    until(lambda: waiting(http) == 0)


def test_a_client_that_cancels_ends_its_own_poll_only(server: Server, http: HttpFront) -> None:
    """Two clients use the same request id; ids mean nothing between clients."""
    sessions = [
        http.post(request("legacy", "initialize", HELLO)).headers["mcp-session-id"]
        for _ in range(2)
    ]
    message = call("legacy", "probe_wait", {"seconds": 100}, 5)
    with ThreadPoolExecutor() as clients, HttpFront(server.mcp) as other:
        mine = clients.submit(http.post, message, **{"mcp-session-id": sessions[0]})
        with HttpFront(server.mcp) as control:
            theirs = clients.submit(other.post, message, **{"mcp-session-id": sessions[1]})
            until(lambda: waiting(control) == 2)
            gone = {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 5},
            }
            strangers = {"mcp-session-id": "unknown"}
            assert control.post(gone, **strangers).status_code == 202
            assert control.post(gone).status_code == 202
            assert waiting(control) == 2
            cancelled = control.post(gone, **{"mcp-session-id": sessions[0]})
            assert cancelled.status_code == 202
            assert mine.result().json()["error"]["code"] == -32800
            assert waiting(control) == 1
            control.ask(call("legacy", "probe_wake"))
            assert theirs.result().json()["result"]["isError"] is False


def test_only_the_token_of_a_call_calls_it_off(server: Server, team: Any, http: HttpFront) -> None:
    """Who knows the session's id, but has no token or another one, ends nothing."""
    tokens = [
        http.ask(call("legacy", "authenticate", team.login))["result"]["structuredContent"]
        for _ in range(2)
    ]
    mine, other = (told["result"]["session_token"] for told in tokens)
    greeted = http.post(request("legacy", "initialize", HELLO))
    session = {"mcp-session-id": greeted.headers["mcp-session-id"]}
    message = call("legacy", "probe_wait", {"seconds": 100}, 5)
    gone = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
    with ThreadPoolExecutor() as clients, HttpFront(server.mcp, mine) as me:
        waits = clients.submit(me.post, message, **session)
        until(lambda: waiting(http) == 1)
        for strange in ({}, {"authorization": f"Bearer {other}"}, {"authorization": "Basic x"}):
            assert http.post(gone, **session, **strange).status_code == 202
        assert waiting(http) == 1
        assert http.post(gone, **session, authorization=f"Bearer {mine}").status_code == 202
        assert waits.result().json()["error"]["code"] == -32800


@pytest.mark.parametrize("era", ERAS)
def test_long_waits_report_rising_progress(server: Server, http: HttpFront, era: Era) -> None:
    message = call(era, "probe_wait", {"seconds": 100}, "long", progressToken="mine")
    with httpx.stream(
        "POST", server.mcp, json=message, headers=headers_of(message), timeout=30
    ) as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        events = events_of(answer)
        seen = [next(events)["params"] for _ in range(2)]
        assert {params["progressToken"] for params in seen} == {"mine"}
        assert 0 < seen[0]["progress"] < seen[1]["progress"]
        http.ask(call("legacy", "probe_wake"))
        last = [event for event in events if "id" in event]
    assert [event["id"] for event in last] == ["long"]
    assert last[0]["result"]["structuredContent"]["result"] == {"woken": True}


def test_a_wait_without_a_progress_token_is_answered_as_json(http: HttpFront) -> None:
    answer = http.post(call("legacy", "probe_wait", {"seconds": 0.5}))
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["structuredContent"]["result"] == {"woken": False}


def test_colliding_ids_of_many_clients_never_mix(server: Server) -> None:
    def client(number: int) -> set[int]:
        with HttpFront(server.mcp) as own:
            answers = [
                own.ask(call(ERAS[number % 2], "probe_echo", {"text": "hi", "number": number}))
                for _ in range(20)
            ]
        return {answer["result"]["structuredContent"]["result"]["number"] for answer in answers}

    with ThreadPoolExecutor(8) as clients:
        seen = list(clients.map(client, range(8)))
    assert seen == [{number} for number in range(8)]


def test_a_stop_ends_open_polls_with_an_answer(team: Any) -> None:
    with team.install.up() as own, HttpFront(own.mcp) as http, HttpFront(own.mcp) as control:
        answers: list[Any] = []
        message = call("modern", "probe_wait", {"seconds": 100})
        poll = threading.Thread(target=lambda: answers.append(http.ask(message)))
        poll.start()
        until(lambda: waiting(control) == 1)
        own.process.send_signal(SIGTERM)
        poll.join(timeout=10)
        assert own.process.wait(timeout=10) == 0
    assert answers[0]["result"]["structuredContent"]["result"] == {"woken": False}
