"""Requests that come slowly or never end cost their sender the connection, others nothing."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.sync.client import connect

from aipm_core.testkit import Install, Server
from tests.agents import log_in, team


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    root = tmp_path_factory.mktemp("reception")
    with Install.make(root, "[server]\nrequest_seconds = 0.3\n").up() as running:
        yield running


def heard(server: Server, said: bytes) -> bytes:
    """Say something and nothing more; return what comes until the server closes."""
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname, where.port), timeout=30) as wire:
        wire.sendall(said.replace(b"PORT", str(where.port).encode()))
        return b"".join(iter(lambda: wire.recv(65536), b""))


@pytest.mark.parametrize("said", [b"G", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"])
def test_half_a_head_is_not_waited_for(server: Server, said: bytes) -> None:
    answer = heard(server, said)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'"code":"request_timeout"' in answer


def test_who_says_nothing_is_left(server: Server) -> None:
    assert heard(server, b"") == b""


def test_half_a_body_is_not_waited_for(server: Server) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"
    assert heard(server, head + b'Content-Length: 100\r\n\r\n{"') == b""


def test_the_second_request_of_a_connection_is_held_to_it_too(server: Server) -> None:
    whole = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n"
    answer = heard(server, whole + b"GET /healthz HTTP/1.1\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in answer


def test_who_waits_for_an_answer_is_not_hurried(tmp_path: Path) -> None:
    """A long poll takes longer than a request may take to arrive."""
    install = Install.make(tmp_path, "[server]\nrequest_seconds = 0.2\n")
    passkey = team(install, "ann")["ann"]
    with install.up() as server:
        waited = log_in(server.mcp, "ann", passkey).result("get_next_action", timeout_seconds=1)
        assert waited["action"] == "wait_for_messages"
        with connect(f"{server.ready['ws']}", proxy=None) as socket_:
            error = json.loads(socket_.recv(timeout=30))
            assert error["code"] == "authentication_required"  # after three seconds, not before


def test_large_but_bearable_heads_are_read(server: Server) -> None:
    answer = httpx.get(f"{server.url}/healthz", headers={"x": "a" * 60_000})
    assert answer.status_code == 200
