"""SIGTERM and SIGINT: polls end with an answer, exit 0 in time, and everything goes on after."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from aipm_devkit.program import AIPM, Server

from tests.agents import Agent
from tests.fault_team import Team

IN_TIME = 10


@contextmanager
def polling(server: Server, agents: list[Agent]) -> Iterator[list[HTTPConnection]]:
    """Have every agent wait for work; return the connections their answers will come on."""
    address = urlsplit(server.mcp)
    connections = [HTTPConnection(address.netloc, timeout=30) for _ in agents]
    for connection, agent in zip(connections, agents, strict=True):
        arguments = {"session_token": agent.token, "timeout_seconds": 55}
        params = {"name": "get_next_action", "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        headers = {
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        connection.request("POST", address.path, body, headers)
    # The server reads in the order of arrival: when these are answered, it has read the polls.
    for _ in range(2):
        Agent(server.mcp).result("help")
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def answer(connection: HTTPConnection) -> dict[str, Any]:
    text = connection.getresponse().read().decode()
    message: dict[str, Any] = json.loads(text.strip().split("\n")[-1].removeprefix("data: "))
    envelope: dict[str, Any] = message["result"]["structuredContent"]
    return envelope


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
def test_polls_end_with_an_answer_and_sessions_survive(us: Team, first: signal.Signals) -> None:
    with us.install.up() as server:
        ann, bob = us.ann(server), us.bob(server)
        with polling(server, [ann, bob, us.bob(server)]) as polls:
            server.process.send_signal(first)
            server.process.send_signal(signal.SIGTERM)
            for poll in polls:
                assert answer(poll)["result"]["action"] == "wait_for_messages"
            server.process.send_signal(first)
            assert server.process.wait(IN_TIME) == 0
    assert server.log == ""
    with us.install.up() as again:
        assert us.sent_messages.say(Agent(again.mcp, ann.token)) == "ok"
        assert Agent(again.mcp, bob.token).result("get_pending_messages")["pending_messages"]
    us.sent_messages.check()


def test_signals_all_the_way_out_change_nothing(us: Team) -> None:
    """Whatever it is doing, a server that said it is ready ends with 0."""
    with us.install.up() as server:
        while server.process.poll() is None:
            server.process.send_signal(signal.SIGTERM)
            try:
                server.process.wait(0.01)
            except subprocess.TimeoutExpired:
                continue
    assert server.process.returncode == 0
    assert server.log == ""


def test_a_server_with_nothing_to_do_stops_at_once(us: Team) -> None:
    with us.install.up() as server:
        server.process.terminate()
        assert server.process.wait(IN_TIME) == 0


UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
HALF = [
    "",
    "GET /ws HTTP/1.1\r\nHost: {host}\r\n",
    f"GET /ws HTTP/1.1\r\nHost: {{host}}\r\n{UPGRADE}{KEY}",
    f"GET /ws HTTP/1.1\r\nHost: {{host}}\r\n{UPGRADE}{KEY}\r\n",
    f"GET /ws HTTP/1.1\r\nHost: {{host}}\r\n{UPGRADE}{KEY}Content-Length: 50\r\n\r\n",
    f"GET /ws HTTP/1.1\r\nHost: {{host}}\r\n{UPGRADE}{KEY}Transfer-Encoding: chunked\r\n\r\n0\r\n",
    f"GET /ws HTTP/1.1\r\nHost: {{host}}\r\n{UPGRADE}{KEY}X: {'a' * 9000}\r\n\r\n",
    f"GET /ws HTTP/1.1\r\nHost: {{host}}\r\n{UPGRADE}\r\n",
    f"GET /no HTTP/1.1\r\nHost: {{host}}\r\n{UPGRADE}{KEY}\r\n",
    "GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    'Content-Length: 100\r\n\r\n{{"',
]


def test_connections_that_have_only_half_begun_change_nothing(us: Team) -> None:
    with us.install.up() as server, ExitStack() as open_:
        where = urlsplit(server.url)
        for said in HALF:
            wire = socket.create_connection((where.hostname, where.port))
            open_.enter_context(wire)
            wire.sendall(said.format(host=where.netloc).encode())
        assert Agent(server.mcp).result("help")
        server.process.terminate()
        assert server.process.wait(IN_TIME) == 0
    assert "Traceback" not in server.log


def test_a_supervisor_hears_ready_alive_and_stopping(us: Team, tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(address))
        supervisor.settimeout(30)
        us.install.environ |= {"NOTIFY_SOCKET": str(address), "WATCHDOG_USEC": "100000"}
        with us.install.up() as server:
            heard = [supervisor.recv(100) for _ in range(4)]
            assert heard.count(b"READY=1") == 1
            assert heard.count(b"WATCHDOG=1") == 3
            server.process.terminate()
            while supervisor.recv(100) != b"STOPPING=1":
                pass
            assert server.process.wait(IN_TIME) == 0


def test_the_watchdog_of_another_process_is_not_ours(us: Team, tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(address))
        supervisor.settimeout(30)
        us.install.environ |= {
            "NOTIFY_SOCKET": str(address),
            "WATCHDOG_USEC": "1000",
            "WATCHDOG_PID": str(os.getpid()),
        }
        with us.install.up():
            assert supervisor.recv(100) == b"READY=1"
        assert supervisor.recv(100) == b"STOPPING=1"


def test_stdio_ends_with_its_signal(us: Team) -> None:
    process = subprocess.Popen(
        [AIPM, "mcp"],
        cwd=us.install.root,
        env=us.install.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.terminate()
    _, errors = process.communicate(timeout=IN_TIME)
    assert (process.returncode, errors) == (0, "")
