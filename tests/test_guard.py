"""Host, Origin and body size are checked on every route, loopback included."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aipm_devkit.program import Install, Server
from aipm_http_server.guard import Guard
from aipm_http_server.responses import send_json
from aipm_http_server.settings import ServerSettings
from websockets.sync.client import connect

from aipm_core.errors import StoreUnavailable
from tests.agents import log_in, team
from tests.security import raw


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Install:
    return Install.make(tmp_path_factory.mktemp("guard"))


@pytest.fixture(scope="module")
def server(install: Install) -> Iterator[Server]:
    with install.up() as running:
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


def chunked(body: bytes) -> Iterator[bytes]:
    """Make httpx send a body without saying how long it is."""
    for start in range(0, len(body), 10_000):
        yield body[start : start + 10_000]


@pytest.fixture(scope="module")
def token(server: Server, install: Install) -> str:
    install.run("project", "add", "p")
    install.run("agent", "add", "mia", "--project", "p", "--type", "human")
    made: str = install.json("token", "create", "--agent", "mia")["token"]
    return made


def posted(server: Server, size: int, token: str = "", *, whole: bool) -> tuple[int, object]:
    """Post a JSON text of so many bytes to a route that reads it; return status and code."""
    body = b'"' + b"x" * (size - 2) + b'"'
    headers = {"content-type": "application/json"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    content = body if whole else chunked(body)
    reply = httpx.post(server.mcp, content=content, headers=headers, timeout=30)
    return reply.status_code, reply.json()["error"]["code"]


READ = (400, -32600)  # "one JSON-RPC message a request": it was read whole, and is none
REFUSED = (413, "body_too_large")


@pytest.mark.parametrize("whole", [True, False], ids=["announced", "not announced"])
def test_a_large_body_is_refused_announced_or_not(server: Server, token: str, whole: bool) -> None:
    assert posted(server, 1024 * 1024, token, whole=whole) == READ
    assert posted(server, 1024 * 1024 + 1, token, whole=whole) == REFUSED
    assert httpx.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.parametrize("whole", [True, False], ids=["announced", "not announced"])
def test_a_body_is_small_without_a_valid_token(server: Server, token: str, whole: bool) -> None:
    for wrong in ("", "wrong", token[:-1]):
        assert posted(server, 64 * 1024, wrong, whole=whole) == READ
        assert posted(server, 64 * 1024 + 1, wrong, whole=whole) == REFUSED


def test_who_may_not_send_so_much_is_told_who_may(server: Server) -> None:
    reply = httpx.post(server.mcp, content=b"x" * 70_000)
    assert reply.json()["error"]["message"] == (
        "the body exceeds 65536 bytes: more, up to 1048576, needs a valid token "
        "in the header Authorization: Bearer …"
    )


def test_a_frame_is_small_before_its_sender_is_known(server: Server, token: str) -> None:
    def told(most: int) -> str:
        frame = json.dumps({"type": "auth", "token": token})
        with connect(server.ready["ws"], proxy=None) as socket_:
            socket_.send(frame + " " * (most - len(frame)))
            first = json.loads(socket_.recv(timeout=30))
            return str(first.get("code", first["type"]))

    assert told(64 * 1024) == "ready"
    assert told(64 * 1024 + 1) == "payload_too_large"


ADDRESSES = {
    "name": "/healthz?{}=1",
    "value": "/healthz?x={}",
    "among others": "/metrics?a=b&x=y{}z&c=d",
    "path": "/{}",
    "deep in a path": "/api/projects/p/agents/{}/chat/messages",
    "a filter": "/api/projects/p/agents/ann/chat/search?q={}",
    "agents": "/mcp?x={}",
    "ready": "/readyz?{}",
    "schema": "/schema/events.json?v={}",
    "nothing there": "/nothing/at/all?x={}",
    "events": "/events?session={}",
}


def spellings(token: str) -> list[str]:
    """Escape a token: not at all, in one place, everywhere, and the escapes again and again."""
    whole = "".join(f"%{ord(letter):02x}" for letter in token)
    found = [token, token.replace("_", "%5F"), whole]
    for _ in range(6):
        found.append(found[-1].replace("%", "%25"))
    return found


@pytest.mark.parametrize("place", ADDRESSES)
def test_a_token_in_an_address_is_refused_everywhere(
    server: Server, token: str, place: str
) -> None:
    kinds = (token, token.replace("_ui_", "_st_"), token.replace("_ui_", "_pk_"))
    for spelled in (one for kind in kinds for one in spellings(kind)):
        for method in ("GET", "POST"):
            asked = raw.request(
                server,
                f"{method} {ADDRESSES[place].format(spelled)} HTTP/1.1",
                f"Authorization: Bearer {token}",
                "Content-Length: 0",
            )
            reply = raw.send(server, asked)
            assert reply is not None
            assert (reply.status, reply.code) == (400, "token_in_url"), spelled
            assert spelled.encode() not in reply.body


def test_a_token_in_an_address_is_not_logged_either(tmp_path: Path) -> None:
    token = "aipm_ui_" + "x" * 43
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    with Install.make(tmp_path, '[log]\nlevel = "debug"\n').up() as server:
        for spelled in spellings(token):
            for headers in ((), (*upgrade, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")):
                line = f"GET /ws?x={spelled} HTTP/1.1"
                reply = raw.send(server, raw.request(server, line, *headers), then_close=False)
                assert reply is not None
                assert reply.status == 400
    assert "listening" in server.log or "stopped" in server.log
    assert not any(spelled in server.log for spelled in spellings(token))


@pytest.mark.parametrize("name", ["token", "access_token", "Session_Token", "auth", "passkey"])
def test_an_address_has_no_place_for_a_token_whatever_it_looks_like(
    server: Server, name: str
) -> None:
    reply = httpx.get(f"{server.url}/healthz?{name}=anything")
    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "token_in_url")


def test_what_is_no_token_may_stand_in_an_address(server: Server) -> None:
    for address in ("/healthz?author=ann&q=aipm_ui_&x=%2525", "/healthz?q=100%25&aipm_st_short"):
        assert httpx.get(server.url + address).status_code == 200


@pytest.mark.parametrize("target", ["/healthz#{}", "http://{}@127.0.0.1/healthz"])
def test_an_address_has_neither_fragment_nor_user(server: Server, token: str, target: str) -> None:
    reply = raw.send(server, raw.request(server, f"GET {target.format(token)} HTTP/1.1"))
    assert reply is not None
    assert (reply.status, reply.code) == (400, "invalid_request")


def test_every_length_of_a_message_fits_without_a_header(tmp_path: Path) -> None:
    """Agents may carry their token as an argument, and clients escape as they like."""
    install = Install.make(tmp_path)
    passkey = team(install, "ann", "bob")["ann"]
    with install.up() as server:
        ann = log_in(server.mcp, "ann", passkey)
        longest = "\U0001f600" * 4_000  # twelve bytes each, as escapes of two surrogates
        sent = ann.call("send_message", target_agent_id="bob", content=longest)
        assert sent["result"]["success"]


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


async def nobody(token: str) -> bool:
    return False


async def guarded(app: Any, port: int, url: str) -> httpx.Response:
    transport = httpx.ASGITransport(app=Guard(app, ServerSettings(), port, nobody))
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
