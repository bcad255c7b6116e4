"""Requests that come slowly or never end cost their sender the connection, others nothing."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn
from aipm_devkit.program import Install, Server
from aipm_http_server.websocket_protocol import Upgraded
from uvicorn.server import ServerState
from websockets.sync.client import connect

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


UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


@pytest.mark.parametrize(
    "said",
    [
        UPGRADE + b"Content-Length: 50\r\n\r\n",
        UPGRADE + b"Content-Length: 5\r\n\r\nhello",
        UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n",
        UPGRADE + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        UPGRADE.replace(b"websocket", b"h2c") + b"Content-Length: 5\r\n\r\nhello",
        UPGRADE.replace(b"websocket", b"websocket, h2c") + b"Content-Length: 5\r\n\r\n",
    ],
)
def test_an_upgrade_with_a_body_is_refused_at_once(server: Server, said: bytes) -> None:
    answer = heard(server, said)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.endswith(b'"message":"a request for an upgrade has no body: leave it out"}}')


@pytest.mark.parametrize(
    "said",
    [
        UPGRADE + b"X: " + b"a" * 9_000 + b"\r\n\r\n",
        UPGRADE + b"".join(b"X%d: a\r\n" % number for number in range(200)) + b"\r\n",
        UPGRADE.replace(b"/ws", b"/ws?" + b"a" * 9_000) + b"\r\n",
    ],
)
def test_an_upgrade_that_comes_to_nothing_is_not_held(server: Server, said: bytes) -> None:
    answer = heard(server, said)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"code":"invalid_request"' in answer


def test_an_upgrade_without_a_body_may_say_so(server: Server) -> None:
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname, where.port), timeout=30) as wire:
        said = UPGRADE + b"Content-Length: 0\r\n\r\n"
        wire.sendall(said.replace(b"PORT", str(where.port).encode()))
        assert wire.recv(100).startswith(b"HTTP/1.1 101 ")


def test_what_comes_behind_the_body_is_no_header(tmp_path: Path) -> None:
    """A token or a host in a trailer means nothing."""
    install = Install.make(tmp_path, "[server]\nrequest_seconds = 2\n")
    passkey = team(install, "ann")["ann"]
    with install.up() as server:
        token = log_in(server.mcp, "ann", passkey).token
        params = {"name": "get_my_task", "arguments": {}}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = json.dumps(call).encode()
        head = (
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"
            b"Accept: application/json, text/event-stream\r\nConnection: close\r\n"
        )
        bearer = f"Authorization: Bearer {token}\r\n".encode()
        chunks = b"%x\r\n%s\r\n0\r\n" % (len(body), body)
        chunked = head + b"Transfer-Encoding: chunked\r\n"
        assert b'"result"' in heard(server, chunked + bearer + b"\r\n" + chunks + b"\r\n")
        answer = heard(server, chunked + b"\r\n" + chunks + bearer + b"\r\n")
        assert b"authentication_required" in answer
        foreign = b"Host: evil.example\r\nX-Length: 1\r\n\r\n"
        assert b'"result"' in heard(server, chunked + bearer + b"\r\n" + chunks + foreign)


def test_trailers_without_end_are_not_read(tmp_path: Path) -> None:
    with Install.make(tmp_path).up() as server:
        where = urlsplit(server.url)
        wire = socket.create_connection((where.hostname, where.port), timeout=30)
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{where.port}\r\n"
            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: "
        )
        wire.sendall(head.encode())
        with wire, pytest.raises(ConnectionError):
            wire.sendall(b"a" * 20_000_000)


async def test_a_connection_that_cannot_be_closed_in_order_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The server stops while it refuses an upgrade."""
    config = uvicorn.Config(app=lambda: None, log_config=None)
    ours, theirs = socket.socketpair()
    with theirs:
        transport, protocol = await asyncio.get_running_loop().connect_accepted_socket(
            lambda: Upgraded(config, ServerState(), {}), ours
        )
        protocol.data_received(b"this is no request\r\n\r\n")
        protocol.shutdown()
        assert transport.is_closing()
        assert await asyncio.to_thread(theirs.recv, 1) in (b"H", b"")
    assert caplog.messages[-1] == "dropped a connection that could not be closed: AssertionError()"
