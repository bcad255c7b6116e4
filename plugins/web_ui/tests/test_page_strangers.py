"""Who is not the page gets nothing: other origins and ports, frames, used codes, foreign ids."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from aipm_devkit.program import Server
from playwright.sync_api import Browser, Page, expect

from tests.shop import Person, Refused, Shop


class Elsewhere(BaseHTTPRequestHandler):
    """A site of somebody else, on another port of the same machine."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title><body>")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop.make(tmp_path_factory.mktemp("strangers") / "place", locale="en")


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        yield running


@pytest.fixture(scope="module")
def other_site() -> Iterator[str]:
    site = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{site.server_address[1]}"
    site.shutdown()
    site.server_close()


@pytest.fixture
def stranger(browser: Browser, other_site: str) -> Iterator[Page]:
    context = browser.new_context()
    page = context.new_page()
    page.goto(other_site)
    yield page
    context.close()


@pytest.mark.parametrize(
    "path", ["/", "/api/projects", "/api/tools", "/api/projects/shop/state", "/api/panels"]
)
def test_a_page_of_another_port_reads_nothing(
    stranger: Page, shop: Shop, server: Server, path: str
) -> None:
    token = shop.person(server).token
    read = """async ([url, token]) => {
        const headers = token ? { Authorization: `Bearer ${token}` } : {};
        try { return await (await fetch(url, { headers })).text(); } catch { return 'refused'; }
    }"""
    for shown in (token, None):
        assert stranger.evaluate(read, [server.url + path, shown]) == "refused"


def test_a_page_of_another_port_does_nothing(stranger: Page, shop: Shop, server: Server) -> None:
    anna = shop.person(server)
    before = anna.get("/api/projects/shop/state")["views"]["tasks"]
    send = """async ([url, type]) => {
        const body = JSON.stringify({ project_id: 'shop', title: 'from elsewhere' });
        const how = { method: 'POST', mode: 'no-cors', headers: { 'Content-Type': type }, body };
        try { await fetch(url, how); } catch { return 'refused'; }
        return 'sent';
    }"""
    url = f"{server.url}/api/tools/create_task"
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        stranger.evaluate(send, [url, kind])
    assert anna.get("/api/projects/shop/state")["views"]["tasks"] == before
    socket = """(url) => new Promise((done) => {
        const socket = new WebSocket(url);
        socket.onopen = () => done('open');
        socket.onerror = () => done('refused');
    })"""
    assert stranger.evaluate(socket, server.ready["ws"]) == "refused"


def test_the_page_cannot_be_framed(stranger: Page, server: Server) -> None:
    told: list[str] = []
    stranger.on("console", lambda message: told.append(message.text))
    with stranger.expect_event("console"):
        stranger.evaluate(
            """(url) => {
                const frame = document.createElement('iframe');
                frame.src = url;
                document.body.append(frame);
            }""",
            server.url,
        )
    assert any("frame-ancestors" in text for text in told)
    inside = [frame for frame in stranger.frames if frame is not stranger.main_frame]
    assert all(frame.query_selector("#app") is None for frame in inside)


def test_names_that_only_look_like_ours(server: Server) -> None:
    port = server.url.rpartition(":")[2]
    bad = ("null", f"http://127.0.0.1.evil.example:{port}", f"http://127.0.0.1:{port}@evil.example")
    more = (f"https://127.0.0.1:{port}", "http://localhost:5173", f"http://127.1:{port}")
    for origin in (*bad, *more):
        for path in ("/", "/api/login", "/api/projects"):
            answer = httpx.get(server.url + path, headers={"origin": origin})
            assert answer.status_code == 403, (origin, path)
    for host in (f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"0.0.0.0:{port}"):
        assert httpx.get(server.url + "/", headers={"host": host}).status_code == 421, host


def test_a_stolen_code_is_worth_nothing(browser: Browser, shop: Shop, server: Server) -> None:
    code = shop.install.json("open", "--as", "anna", "--print")["code"]
    own = browser.new_context(locale="en").new_page()
    own.goto(f"{server.url}/#code={code}")
    expect(own.get_by_role("heading", name="Inbox")).to_be_visible()
    thief = browser.new_context(locale="en").new_page()
    thief.goto(f"{server.url}/#code={code}")
    expect(thief.get_by_role("alert")).to_contain_text("aipm open")
    assert thief.evaluate("localStorage.getItem('aipm.signin')") in (None, "null")
    expect(own.get_by_role("heading", name="Inbox")).to_be_visible()
    for page in (own, thief):
        page.context.close()


def test_ids_of_a_foreign_project_are_unknown(browser: Browser, shop: Shop, server: Server) -> None:
    install = shop.install
    install.run("project", "add", "secret", "--dir", "secret")
    added = install.json("agent", "add", "eve", "--project", "secret", "--type", "human")
    login = {"agent_id": "eve", "passkey": added["passkey"]}
    eve = Person(server.url, Person(server.url, "").post("/api/login", login)["token"])
    task = shop.person(server).call("create_task", project_id="shop", title="ours")["task"]["id"]
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("move_task", {"project_id": "shop", "task_id": task, "status": "todo"}),
        ("move_task", {"project_id": "secret", "task_id": task, "status": "todo"}),
        ("say", {"project_id": "shop", "agent_id": "worker-1", "content": "x"}),
        ("say", {"project_id": "secret", "agent_id": "worker-1", "content": "x"}),
        ("list_grants", {"project_id": "shop"}),
        ("withdraw_message", {"project_id": "shop", "message_id": "msg_1"}),
    )
    for tool, given in calls:
        with pytest.raises(Refused, match="not_found"):
            eve.call(tool, **given)
    for path in ("shop/state", "shop/stream", "nothing/state"):
        with pytest.raises(Refused, match="project_not_found"):
            eve.get(f"/api/projects/{path}")
    page = browser.new_context(locale="en").new_page()
    code = install.json("open", "--as", "eve", "--print")["code"]
    page.goto(f"{server.url}/#code={code}")
    expect(page.locator(".pill.is-live").first).to_be_attached()
    for address in (f"#/shop/tasks/{task}", "#/shop/board", "#/nothing/board"):
        page.goto(f"{server.url}/{address}")
        expect(page.get_by_role("heading", name="There is nothing here")).to_be_visible()
        assert "ours" not in (page.locator("body").text_content() or "")
    page.context.close()
