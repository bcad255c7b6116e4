"""Connections without a token make room for each other; whoever has one always gets in."""

import json
import logging
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aipm_devkit.program import Install, Server
from aipm_http_server.connections import Connection, Connections, Room
from aipm_http_server.seldom import Seldom
from aipm_http_server.settings import ServerSettings
from websockets.sync.client import connect

from tests.agents import log_in, team

FEW = """
[server]
max_connections = 40
max_idle_connections = 30
max_idle_connections_per_address = 20
"""
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@contextmanager
def crowd(server: Server, count: int, said: bytes = b"") -> Iterator[list[socket.socket]]:
    """Open connections that say something and then nothing more; each is served before the next."""
    where = urlsplit(server.url)
    with ExitStack() as stack:
        wires = []
        for _ in range(count):
            wire = socket.create_connection((where.hostname, where.port), timeout=30)
            wires.append(stack.enter_context(wire))
            wire.sendall(said or f"GET /healthz HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
            if not said:
                assert wire.recv(4096).startswith(b"HTTP/1.1 200 ")
        yield wires


def still_open(wires: list[socket.socket]) -> list[bool]:
    """Say which connections the server has not ended."""

    def is_open(wire: socket.socket) -> bool:
        wire.setblocking(False)
        try:
            while wire.recv(4096):
                pass
        except BlockingIOError:
            return True
        except ConnectionResetError:
            pass
        return False

    return [is_open(wire) for wire in wires]


@contextmanager
def connections(server: Server, count: int) -> Iterator[list[HTTPConnection]]:
    """Hand out clients that keep their connections until the block ends."""
    netloc = urlsplit(server.url).netloc
    with ExitStack() as stack:
        made = (HTTPConnection(netloc, timeout=30) for _ in range(count))
        yield [stack.enter_context(closing(connection)) for connection in made]


def alive(server: Server) -> bool:
    with connections(server, 1) as (connection,):
        connection.request("GET", "/healthz", headers={"connection": "close"})
        return connection.getresponse().status == 200


def ask(connection: HTTPConnection, bearer: str | None = None, **arguments: object) -> str:
    """Call a tool on a connection that stays open."""
    params = {"name": "get_my_task", "arguments": arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    token = {} if bearer is None else {"authorization": f"Bearer {bearer}"}
    connection.request("POST", "/mcp", body, {**HEADERS, **token})
    return connection.getresponse().read().decode()


def test_idle_connections_go_in_the_order_in_which_they_fell_silent(tmp_path: Path) -> None:
    with Install.make(tmp_path, FEW).up() as server, crowd(server, 100) as wires:
        assert alive(server)  # itself one of the twenty, while it lasted
        assert still_open(wires) == [False] * 81 + [True] * 19
    assert server.log.count("\n") == 1
    assert "closed 1 connections without a token to make room" in server.log


def test_who_says_half_of_something_makes_room_as_well(tmp_path: Path) -> None:
    with Install.make(tmp_path, FEW).up() as server, crowd(server, 60, b"GET /healthz HT") as wires:
        assert alive(server)
        assert sum(still_open(wires)) == 19


def test_connections_with_a_token_outlive_a_crowd_without(tmp_path: Path) -> None:
    """Shown as a header, as an argument, or in the first frame of a WebSocket."""
    install = Install.make(tmp_path, FEW)
    passkey = team(install, "ann")["ann"]
    install.run("agent", "add", "mia", "--project", "p", "--type", "human")
    person = install.json("token", "create", "--agent", "mia")["token"]
    with install.up() as server, connections(server, 4) as made:
        token = log_in(server.mcp, "ann", passkey).token
        by_header, by_argument, by_person, by_nobody = made
        assert '"result"' in ask(by_header, token)
        assert '"result"' in ask(by_argument, session_token=token)
        by_person.request("GET", "/metrics", headers={"authorization": f"Bearer {person}"})
        assert by_person.getresponse().read()
        assert "authentication_required" in ask(by_nobody)
        with connect(server.ready["ws"], proxy=None) as ui:
            ui.send(json.dumps({"type": "auth", "token": person}))
            assert json.loads(ui.recv()) == {"type": "ready"}
            with crowd(server, 100):
                known = [by_header.sock, by_argument.sock, by_person.sock]
                assert still_open([*known, by_nobody.sock]) == [True, True, True, False]
                ui.ping().wait(30)
            for connection in (by_header, by_argument, by_person):
                connection.sock.setblocking(True)
                assert '"result"' in ask(connection, token)


def test_the_last_places_are_not_for_those_who_have_a_token(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "[server]\nmax_connections = 4\n")
    passkey = team(install, "ann")["ann"]
    with install.up() as server, connections(server, 5) as (*kept, one_more, last):
        token = log_in(server.mcp, "ann", passkey).token
        for connection in kept:
            assert '"result"' in ask(connection, token)
        assert '"code":"too_many_connections"' in ask(one_more, token)
        with crowd(server, 20):
            assert alive(server)
        kept[0].close()
        assert '"result"' in ask(kept[1], token)
        assert '"result"' in ask(last, token)
    assert "refused 1 requests: all connections are taken" in server.log


def test_few_open_files_are_enough_for_everybody(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    install = Install.make(tmp_path)
    passkey = team(install, "ann")["ann"]
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    with ExitStack() as stack:
        try:
            server = stack.enter_context(install.up())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        with crowd(server, 300) as wires, crowd(server, 300, b"G"):
            assert not any(still_open(wires))
            assert alive(server)
            assert log_in(server.mcp, "ann", passkey).result("get_my_task") == {"task": None}
    assert "Too many open files" not in server.log


def closes(all_: Connections, address: str, closed: list[str], name: str) -> Connection:
    return all_.add(address, lambda: closed.append(name))


@pytest.fixture
def small() -> Connections:
    return Connections(Room(known=3, total=6, idle=4, idle_per_address=2))


def test_an_address_only_takes_room_from_itself(small: Connections) -> None:
    closed: list[str] = []
    closes(small, "there", closed, "theirs")
    for number in range(4):
        closes(small, "here", closed, f"ours {number}")
    assert closed == ["ours 0", "ours 1"]


def test_many_addresses_take_room_from_the_oldest(small: Connections) -> None:
    closed: list[str] = []
    for number in range(6):
        closes(small, f"address {number}", closed, str(number))
    assert closed == ["0", "1"]


def test_who_is_being_answered_goes_last(small: Connections) -> None:
    closed: list[str] = []
    for number in range(4):
        closes(small, str(number), closed, f"working {number}").works()
    first = closes(small, "a", closed, "first")
    second = closes(small, "b", closed, "second")
    third = closes(small, "c", closed, "third")
    assert closed == ["first"]
    for connection in (first, second, third):
        connection.works()
    closes(small, "d", closed, "fourth")
    assert closed == ["first", "working 0"]


def test_what_has_left_takes_no_place(small: Connections) -> None:
    closed: list[str] = []
    for number in range(50):
        connection = closes(small, "here", closed, str(number))
        assert connection.recognise()
        assert connection.recognise()
        connection.works()
        connection.leave()
        connection.rests()
    assert closed == []


def test_room_is_never_none() -> None:
    one = Room.of(ServerSettings(max_connections=1))
    assert (one.known, one.total, one.idle, one.idle_per_address) == (1, 2, 1, 1)


def test_the_log_tells_how_many_and_not_each(caplog: pytest.LogCaptureFixture) -> None:
    now = [1000.0]
    seldom = Seldom(logging.getLogger("test"), "{count} of them", lambda: now[0])
    for _ in range(5):
        seldom.note()
    now[0] += 61
    seldom.note()
    seldom.note()
    assert caplog.messages == ["1 of them", "5 of them"]
