"""X2: names and pages that are not ours, over raw sockets, at every kind of door."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import httpx
import pytest
from aipm_devkit.program import Install, Server

from tests.security.corpora import BYPASSES, HOSTS, ORIGINS
from tests.security.raw import Answer, place, request, send

SOCKET = (
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
)
ROUTES = {
    "GET /healthz HTTP/1.1": (),
    "POST /mcp HTTP/1.1": ("Content-Type: application/json", "Content-Length: 0"),
    "POST /commands HTTP/1.1": ("Content-Type: application/json", "Content-Length: 0"),
    "GET /ws HTTP/1.1": SOCKET,
    "OPTIONS /mcp HTTP/1.1": ("Access-Control-Request-Method: POST",),
    "GET /nothing HTTP/1.1": (),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Install.make(tmp_path_factory.mktemp("hosts")).up() as running:
        yield running
        assert httpx.get(f"{running.url}/healthz").json() == {"status": "ok"}
    assert "Traceback" not in running.log


def refused(answer: Answer | None) -> tuple[int, str | None]:
    assert answer is not None
    return answer.status, answer.code


@pytest.mark.parametrize("route", ROUTES)
def test_no_other_host_is_answered_for(server: Server, route: str) -> None:
    for host in HOSTS:
        answer = send(server, request(server, route, *ROUTES[route], host=host))
        assert refused(answer) == (421, "host_not_allowed"), host


@pytest.mark.parametrize("route", ROUTES)
def test_no_other_page_is_answered(server: Server, route: str) -> None:
    for origin in ORIGINS:
        answer = send(server, request(server, route, *ROUTES[route], f"Origin: {origin}"))
        assert refused(answer) == (403, "origin_not_allowed"), origin


@pytest.mark.parametrize("header", BYPASSES)
@pytest.mark.parametrize("route", ROUTES)
def test_no_header_opens_what_is_closed(server: Server, route: str, header: str) -> None:
    host = send(server, request(server, route, *ROUTES[route], header, host="evil.example"))
    assert refused(host) == (421, "host_not_allowed")
    page = send(
        server, request(server, route, *ROUTES[route], header, "Origin: http://evil.example")
    )
    assert refused(page) == (403, "origin_not_allowed")


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("second", ["evil.example", "127.0.0.1:{port}"])
def test_two_hosts_or_origins_are_one_too_many(server: Server, route: str, second: str) -> None:
    hosts = send(server, request(server, route, f"Host: {second}", *ROUTES[route]))
    assert hosts is not None
    assert hosts.status in {400, 421}
    pages = ("Origin: http://127.0.0.1:{port}", f"Origin: http://{second}")
    origins = send(server, request(server, route, *pages, *ROUTES[route]))
    assert origins is not None
    if second == "evil.example":
        assert origins.status in {400, 403}


# name: bytes, what may come back; None is a closed connection
NO_REQUESTS: dict[str, tuple[bytes, set[int | None]]] = {
    "no host": (b"GET /healthz HTTP/1.1\r\n\r\n", {400, 421}),
    "HTTP/1.0": (b"GET /healthz HTTP/1.0\r\n\r\n", {400, 421}),
    "HTTP/0.9": (b"GET /healthz\r\n\r\n", {400, 421}),
    "absolute, Host foreign": (
        b"GET http://127.0.0.1:PORT/healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        {421},
    ),
    "absolute, no Host": (b"GET http://127.0.0.1:PORT/healthz HTTP/1.1\r\n\r\n", {400, 421}),
    "space before colon": (b"GET /healthz HTTP/1.1\r\nHost : 127.0.0.1:PORT\r\n\r\n", {400}),
    "folded": (
        b"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n 127.0.0.1:PORT\r\n\r\n",
        {400, 421},
    ),
    "NUL": (b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\x00\r\n\r\n", {400, 421}),
    "bare newlines": (b"GET /healthz HTTP/1.1\nHost: evil.example\n\n", {400, 421}),
    "tunnel": (b"CONNECT evil:443 HTTP/1.1\r\nHost: evil:443\r\n\r\n", {400, 421}),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", {400}),
    "NULs": (b"\x00" * 100, {400}),
    "no method": (b"G" * 100_000, {400, 431}),
    "endless address": (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", {431}),
    "endless header": (b"GET / HTTP/1.1\r\nX: " + b"a" * 500_000, {431}),
    "large header": (
        b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nX: " + b"a" * 66_000 + b"\r\n\r\n",
        {431},
    ),
    "endless headers": (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 20_000, {431}),
}


@pytest.mark.parametrize("name", NO_REQUESTS)
def test_a_request_that_is_none_is_refused(server: Server, name: str) -> None:
    start, statuses = NO_REQUESTS[name]
    port = server.url.rpartition(":")[2].encode()
    answer = send(server, start.replace(b"PORT", port))
    # Where much is still under way when the answer comes, the connection may break first.
    assert answer is not None or len(start) > 60_000
    assert answer is None or answer.status in statuses
    assert answer is None or answer.code in {
        "invalid_request",
        "host_not_allowed",
        "headers_too_large",
    }


def test_a_proxys_address_counts_no_more_than_its_host(server: Server) -> None:
    """The line names another server: its path is answered only as far as Host is ours."""
    line = "GET http://evil.example/metrics HTTP/1.1"
    assert refused(send(server, request(server, line)))[0] in {400, 401, 404, 421}
    assert refused(send(server, request(server, line, host="evil.example")))[0] == 421


def test_what_follows_a_refused_request_is_checked_too(server: Server) -> None:
    """Two requests in one go: the second does not ride on the first one's Host."""
    good = request(server, "GET /healthz HTTP/1.1")
    bad = request(server, "GET /healthz HTTP/1.1", "Connection: close", host="evil.example")
    with socket.create_connection(place(server), timeout=30) as wire:
        wire.sendall(good + bad)
        data = b"".join(iter(lambda: wire.recv(65536), b""))
    assert data.count(b"HTTP/1.1 200") == 1
    assert data.count(b"HTTP/1.1 421") == 1
