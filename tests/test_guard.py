"""Host, Origin and body size are checked on every route, loopback included."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from aipm_core.config import ServerSettings
from aipm_core.errors import StoreUnavailable
from aipm_core.server.answers import send_json
from aipm_core.server.guard import Guard
from aipm_core.testkit import Install, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Install.make(tmp_path_factory.mktemp("guard")).up() as running:
        yield running


def port(server: Server) -> str:
    return server.url.rpartition(":")[2]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1.evil.example:{port}",
        "127.0.0.1:1",
        "localhost.:{port}",
        "127.1:{port}",
        "0.0.0.0:{port}",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/mcp", "/nothing"])
def test_a_foreign_host_is_misdirected(server: Server, host: str, path: str) -> None:
    headers = {"host": host.format(port=port(server))}
    assert httpx.get(server.url + path, headers=headers).status_code == 421


def test_the_host_is_looked_at_before_anything_else(server: Server) -> None:
    ours = f"127.0.0.1:{port(server)}"

    def status(host: str, *headers: str) -> bytes:
        lines = ("POST /mcp HTTP/1.1", *headers, f"Host: {host}", "", "")
        with socket.create_connection(("127.0.0.1", int(port(server)))) as raw:
            raw.sendall("\r\n".join(lines).encode())
            return raw.recv(100).split(b" ")[1]

    foreign, long = "Origin: http://evil.example", f"Content-Length: {2**21}"
    assert status("evil.example", foreign, long) == b"421"
    assert status("evil.example", long) == b"421"
    assert status(ours, long, foreign) == b"403"
    assert status(ours, long) == b"413"


@pytest.mark.parametrize("host", ["localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_names_of_this_machine_are_fine(server: Server, host: str) -> None:
    headers = {"host": host.format(port=port(server))}
    assert httpx.get(f"{server.url}/healthz", headers=headers).status_code == 200


def test_two_hosts_are_refused(server: Server) -> None:
    host = f"127.0.0.1:{port(server)}"
    request = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(port(server)))) as raw:
        raw.sendall(request.encode())
        assert raw.recv(100).split(b" ")[1] in {b"400", b"421"}


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        "http://localhost:5173",
        "https://127.0.0.1:{port}",
        "http://127.0.0.1:{port}.evil.example",
        "http://127.0.0.1:{port}@evil.example",
    ],
)
def test_a_foreign_origin_is_refused(server: Server, origin: str) -> None:
    headers = {"origin": origin.format(port=port(server))}
    assert httpx.get(f"{server.url}/healthz", headers=headers).status_code == 403


def test_our_own_origin_is_fine(server: Server) -> None:
    assert httpx.get(f"{server.url}/healthz", headers={"origin": server.url}).status_code == 200


def test_a_large_body_is_refused_announced_or_not(server: Server) -> None:
    body = b"x" * (1024 * 1024 + 1)
    assert httpx.post(f"{server.url}/healthz", content=body).status_code == 413
    assert httpx.get(f"{server.url}/healthz").status_code == 200


def test_every_answer_carries_safe_headers(server: Server) -> None:
    for path in ("/healthz", "/nothing"):
        headers = httpx.get(server.url + path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in headers
        assert "server" not in headers


def test_unknown_paths_and_methods_are_typed_errors(server: Server) -> None:
    assert httpx.get(f"{server.url}/nothing").json()["error"]["code"] == "not_found"
    wrong = httpx.post(f"{server.url}/healthz")
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (405, "method_not_allowed")


def test_a_wider_host_can_be_allowed(tmp_path: Path) -> None:
    toml = (
        "[server]\nallowed_hosts = ['aipm.example']\nallowed_origins = ['https://aipm.example']\n"
    )
    with Install.make(tmp_path, toml).up() as server:
        headers = {"host": "aipm.example", "origin": "https://aipm.example"}
        assert httpx.get(f"{server.url}/healthz", headers=headers).status_code == 200


async def guarded(app: Any, port: int, url: str) -> httpx.Response:
    transport = httpx.ASGITransport(app=Guard(app, ServerSettings(), port))
    async with httpx.AsyncClient(transport=transport) as client:
        return await client.get(url)


async def test_on_port_80_a_host_without_a_port_is_ours() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send_json(send, 200, {"fine": True})

    for name in ("127.0.0.1", "localhost", "[::1]"):
        assert (await guarded(app, 80, f"http://{name}/")).json() == {"fine": True}
        assert (await guarded(app, 8137, f"http://{name}/")).status_code == 421
    assert (await guarded(app, 80, "http://evil.example/")).status_code == 421


async def test_a_store_that_fails_is_an_answer_and_not_a_crash(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise StoreUnavailable("disk I/O error (SQLITE_IOERR)")

    reply = await guarded(app, 80, "http://127.0.0.1/")
    assert (reply.status_code, reply.json()["error"]["code"]) == (503, "store_unavailable")
    assert "SQLITE" not in reply.text
    assert "the store cannot be used: disk I/O error (SQLITE_IOERR)" in caplog.text
