"""X5: bytes where JSON should stand, at every door that reads JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.security.attacked_team import AttackedTeam, serving
from tests.security.codes import documented
from tests.security.corpora import JSON
from tests.security.raw import request, send

AIPM = Path(sys.executable).with_name("aipm")
ROUTES = ("/mcp", "/commands", "/api/projects/p/agents/ann/chat/messages", "/ag-ui/p/bob")
BOTH = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("json")) as made:
        yield made
        assert httpx.get(f"{made.server.url}/healthz").json() == {"status": "ok"}


@pytest.fixture(scope="module")
def http(team: AttackedTeam) -> Iterator[httpx.Client]:
    person = {"authorization": f"Bearer {team.tokens['mia']}"}
    with httpx.Client(base_url=team.server.url, timeout=60, headers=person) as client:
        yield client


def check(route: str, status: int, body: bytes) -> None:
    """Say that a reply is a refusal with a code one can look up, or that it is none."""
    assert status < 500, body[:500]
    if status < 400:
        assert route == "/mcp", body[:500]  # the protocol ignores what it does not know
        return
    told = json.loads(body)
    error = told.get("error", told)
    if route == "/mcp" and isinstance(error["code"], int):
        assert -32_800 <= error["code"] <= -32_000
    else:
        assert error["code"] in documented()
    assert len(body) < 2_000, "a refusal does not repeat what was sent"


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", JSON)
def test_bytes_that_are_no_request(http: httpx.Client, route: str, name: str) -> None:
    headers = {"content-type": "application/json", "accept": BOTH}
    reply = http.post(route, content=JSON[name], headers=headers)
    check(route, reply.status_code, reply.content)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x"]
)
def test_other_kinds_of_content(http: httpx.Client, route: str, kind: str) -> None:
    """What any web page may post without asking is never read as JSON."""
    body = b'{"id":"1","type":"openSession","payload":{"projectId":"p","agentId":"bob"}}'
    reply = http.post(route, content=body, headers={"content-type": kind, "accept": BOTH})
    assert reply.status_code in {400, 415}
    check(route, reply.status_code, reply.content)


# The headers after the usual ones, and the bytes that follow them.
BODIES: dict[str, tuple[tuple[str, ...], bytes]] = {
    "longer than it says": (("Content-Length: 2",), b'{"a":1}{"b":2}'),
    "shorter than it says": (("Content-Length: 100",), b'{"a":1}'),
    "a length of 100 MB": (("Content-Length: 104857600",), b"{"),
    "a length of 30 digits": (("Content-Length: 999999999999999999999999999999",), b"{"),
    "a negative length": (("Content-Length: -1",), b"{}"),
    "a length in words": (("Content-Length: two",), b"{}"),
    "two lengths": (("Content-Length: 2", "Content-Length: 7"), b'{"a":1}'),
    "length and chunks": (
        ("Content-Length: 2", "Transfer-Encoding: chunked"),
        b"7\r\n{} {} {\r\n0\r\n\r\n",
    ),
    "chunks": (("Transfer-Encoding: chunked",), b"2\r\n{}\r\n0\r\n\r\n"),
    "chunks of no size": (("Transfer-Encoding: chunked",), b"zz\r\n{}\r\n0\r\n\r\n"),
    "a chunk without end": (("Transfer-Encoding: chunked",), b"ffffffff\r\n{}"),
    "a chunk of all sizes": (("Transfer-Encoding: chunked",), b"f" * 40 + b"\r\n{}"),
    "chunked twice": (("Transfer-Encoding: chunked, chunked",), b"2\r\n{}\r\n0\r\n\r\n"),
    "chunked in disguise": (("Transfer-Encoding: xchunked",), b"2\r\n{}\r\n0\r\n\r\n"),
    "two megabytes of chunks": (
        ("Transfer-Encoding: chunked",),
        b"10000\r\n" + b"x" * 65536 + b"\r\n" + (b"10000\r\n" + b"x" * 65536 + b"\r\n") * 31,
    ),
    "gzip": (("Content-Encoding: gzip", "Content-Length: 29"), JSON["gzip"].ljust(29, b"\0")),
    "deflate": (("Content-Encoding: deflate", "Content-Length: 2"), b"{}"),
    "a promise to go on": (("Expect: 100-continue", "Content-Length: 2"), b"{}"),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_lie_about_themselves(team: AttackedTeam, route: str, name: str) -> None:
    headers, body = BODIES[name]
    usual = ("Content-Type: application/json", f"Accept: {BOTH}")
    token = f"Authorization: Bearer {team.tokens['mia']}"
    raw = request(team.server, f"POST {route} HTTP/1.1", token, *usual, *headers, body=body)
    answer = send(team.server, raw)
    if answer is None:
        assert name in {
            "shorter than it says",
            "a chunk without end",
            "a chunk of all sizes",
            "two megabytes of chunks",
        }
    elif answer.status != 100:
        assert 400 <= answer.status < 500
        check(route, answer.status, answer.body)


def socket_of(team: AttackedTeam) -> ClientConnection:
    headers = {"authorization": f"Bearer {team.tokens['mia']}"}
    return connect(team.server.ready["ws"], additional_headers=headers, proxy=None, max_size=None)


@pytest.mark.parametrize("name", JSON)
def test_frames_that_are_no_command(team: AttackedTeam, name: str) -> None:
    """Each is refused on the spot, or the connection is; as text and as bytes."""
    for as_text in (True, False):
        with socket_of(team) as wire:
            wire.recv(timeout=30)
            try:
                wire.send(JSON[name], text=as_text)
                frame = json.loads(wire.recv(timeout=30))
            except ConnectionClosed as closed:
                assert closed.rcvd is not None  # noqa: PT017 - how it was closed is the point
                assert closed.rcvd.code in {1003, 1007, 1009}, name  # noqa: PT017
                continue
            assert frame["type"] == "error"
            assert frame["code"] in documented()
            assert len(str(frame)) < 1_000
            wire.send('{"id":"alive","type":"nothing"}')
            assert json.loads(wire.recv(timeout=30))["id"] == "alive"


@pytest.mark.parametrize("name", JSON)
def test_first_frames_that_are_no_token(team: AttackedTeam, name: str) -> None:
    with connect(team.server.ready["ws"], proxy=None) as wire:
        try:
            wire.send(JSON[name], text=True)
            frame = json.loads(wire.recv(timeout=30))
            assert frame["code"] in documented() & {
                "authentication_required",
                "invalid_frame",
                "payload_too_large",
            }
            wire.recv(timeout=30)
        except ConnectionClosed as closed:
            assert closed.rcvd is not None  # noqa: PT017 - how it was closed is the point
            assert closed.rcvd.code in {4401, 1007, 1009}  # noqa: PT017


def test_lines_on_stdin_that_are_no_message(team: AttackedTeam) -> None:
    """All of them to one process: each gets its error or nothing, and the last call is answered."""
    ping = b'{"jsonrpc":"2.0","id":"alive","method":"ping"}\n'
    lines = [body.replace(b"\n", b" ").replace(b"\r", b" ") + b"\n" for body in JSON.values()]
    done = subprocess.run(
        [AIPM, "mcp"],
        input=b"".join([*lines, ping]),
        cwd=team.install.root,
        env=team.install.env(),
        capture_output=True,
        timeout=100,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    told = [json.loads(line) for line in done.stdout.split(b"\n") if line]
    assert any(message.get("id") == "alive" and "result" in message for message in told)
    for message in told:
        error = message.get("error")
        assert error is None or error["code"] != -32_603, message
