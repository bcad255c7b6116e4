"""Words of others are never code: hostile texts in every field of every record the page shows."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from aipm_devkit.program import Server
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.shop import Person, Shop

HIT = "window.pwned=1"
MARKUP = (
    f"<script>{HIT}</script>",
    f"<img src=x onerror={HIT}>",
    f"<svg onload={HIT}><animate onbegin={HIT} attributeName=x>",
    f"<math><mtext><img src=x onerror={HIT}></mtext></math>",
    f"<iframe srcdoc='<script>parent.{HIT}</script>'></iframe>",
    f"<template shadowrootmode=open><img src=x onerror={HIT}></template>",
    f"<details open ontoggle={HIT}><input autofocus onfocus={HIT}>",
    f"<a href='javascript:{HIT}'>x</a> [x](javascript:{HIT}) [y](jAvAsCrIpT&colon;{HIT})",
    f"[ref]: data:text/html,<script>{HIT}</script>\n\n[x][ref] <data:text/html,x>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'><base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css><style>@import '//evil.example/y.css'</style>",
    "<form action=//evil.example/><button>go</button></form> ![beacon](http://evil.example/z.png)",
    f"{{{{constructor.constructor('{HIT}')()}}}} ${{{HIT}}} ';{HIT};' </textarea></title></style>",
    "__proto__ <div popover id=x>y</div> <object data=//evil.example/></object>",
)
HIDDEN = "\u202eevil\u2066 \u200b\u2060\ufeff \U000e0041 \u2028\u0085 \x1b[2J \x07"
PAYLOAD = " ".join(MARKUP)
WATCH = """
window.violations = [];
addEventListener('securitypolicyviolation', (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""
FOREIGN = """() => [...document.querySelectorAll('body *')].flatMap((one) => [
  ...(['SCRIPT', 'IFRAME', 'IMG', 'OBJECT', 'EMBED', 'LINK', 'META', 'BASE', 'STYLE', 'TEMPLATE',
       'AUDIO', 'VIDEO'].includes(one.tagName) && !one.closest('noscript') ? [one.outerHTML] : []),
  ...[...one.attributes]
    .filter(({ name, value }) => name.startsWith('on') || name === 'srcdoc' || name === 'popover'
      || (['href', 'src', 'action', 'formaction', 'data', 'xlink:href'].includes(name)
          && !/^(#|https?:|mailto:|\\/ui\\/)/.test(value)))
    .map(({ name, value }) => `${name}=${value}`),
])"""
RULE = f"""
[[plugins.policy.rules]]
tool = "send_message"
decision = "REQUIRE_USER_CONFIRMATION"
level = "WARN"
message = {json.dumps(MARKUP[1] + MARKUP[0])}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop.make(tmp_path_factory.mktemp("hostile") / "place", locale="en", more=RULE)


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        yield running


@pytest.fixture(scope="module")
def tasks(shop: Shop, server: Server) -> list[str]:
    """Fill every field that somebody else can write."""
    anna = shop.person(server)
    made = [full_task(anna, text) for text in (*MARKUP, HIDDEN)]
    worker = shop.agent(server, "worker-1", "task")
    worker.result("update_task_status", task_id=made[0], status="in_progress")
    why = {"status": "blocked", "reason": f"anna: {MARKUP[1]} {HIDDEN}"}
    worker.result("update_task_status", task_id=made[0], **why)
    worker.call("request_task", title=MARKUP[1], description=PAYLOAD, priority="high")
    second = shop.agent(server, "worker-2", "task")
    second.result("update_task_status", task_id=made[1], status="in_progress")
    second.result("report_completed", result="success", summary=PAYLOAD)
    talk(shop, server, anna)
    return made


def full_task(anna: Person, text: str) -> str:
    agent = "worker-2" if text == MARKUP[1] else "worker-1"
    given = {"title": text[:200], "description": PAYLOAD + text, "status": "todo"}
    made = anna.call("create_task", project_id="shop", assignee_id=agent, **given)
    task: str = made["task"]["id"]
    return task


def talk(shop: Shop, server: Server, anna: Person) -> None:
    anna.call("edit_agent", project_id="shop", agent_id="worker-1", name=MARKUP[1])
    anna.call("edit_project", project_id="shop", name=MARKUP[1])
    anna.call("say", project_id="shop", agent_id="worker-1", content=PAYLOAD + HIDDEN)
    note = {"type": "interrupt", "action": "pause", "message": PAYLOAD}
    anna.call("notify", project_id="shop", agent_id="reviewer", **note)
    chat = shop.agent(server, "worker-1", "chat")
    chat.result("get_pending_messages")
    opening = {"initial_message": PAYLOAD, "purpose": MARKUP[1] + MARKUP[6]}
    chat.result("start_conversation", participant_agent_id="worker-2", **opening)
    content = {"target_agent_id": "anna", "content": PAYLOAD + HIDDEN}
    shop.background.submit(chat.call, "send_message", **content)
    anna.wait_for_item("confirmation")


@pytest.fixture(scope="module")
def context(browser: Browser, shop: Shop, server: Server) -> Iterator[BrowserContext]:
    made = browser.new_context(locale="en", reduced_motion="reduce")
    anna = shop.person(server)
    person = {"id": "anna", "name": MARKUP[1], "role": "manager"}
    kept = json.dumps(json.dumps({"token": anna.token, "person": person}))
    made.add_init_script(f"localStorage.setItem('aipm.signin', {kept});{WATCH}")
    yield made
    made.close()


class Watched:
    """A page, and everything it asked for or said."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page, self.server = page, server
        self.asked: list[str] = []
        self.told: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.told.append(message.text))
        page.on("pageerror", lambda error: self.told.append(str(error)))
        page.on("dialog", lambda dialog: self.told.append(dialog.message))

    def show(self, address: str) -> None:
        self.page.goto(f"{self.server.url}/{address}")
        expect(self.page.locator(".pill.is-live").first).to_be_attached()
        expect(self.page.locator(".skel")).to_have_count(0)

    def check(self, what: str) -> None:
        assert self.page.evaluate("window.pwned") is None, what
        assert self.page.evaluate("window.violations") == [], what
        assert self.page.evaluate(FOREIGN) == [], what
        assert self.told == [], what
        outside = [url for url in self.asked if not url.startswith((self.server.url, "blob:"))]
        assert outside == [], what


@pytest.fixture
def watched(context: BrowserContext, server: Server) -> Iterator[Watched]:
    page = context.new_page()
    yield Watched(page, server)
    page.close()


def test_the_net_catches_what_it_should(watched: Watched) -> None:
    watched.show("#/shop/board")
    watched.page.evaluate(
        """(hit) => {
            const link = document.createElement('a');
            link.setAttribute('href', `javascript:${hit}`);
            link.setAttribute('popover', '');
            document.body.append(link, ...['iframe', 'style'].map((one) =>
                document.createElement(one)));
        }""",
        HIT,
    )
    assert len(watched.page.evaluate(FOREIGN)) == 4


SCREENS = (
    *("inbox", "board", "agents", "chat/worker-1", "chat/anna", "conversations", "activity"),
    *("start",),
)


@pytest.mark.parametrize("screen", [*(f"#/shop/{one}" for one in SCREENS), "#/settings/rules"])
def test_a_screen_shows_words_as_words(watched: Watched, tasks: list[str], screen: str) -> None:
    watched.show(screen)
    watched.check(screen)
    assert tasks


def test_every_task_and_every_item(watched: Watched, tasks: list[str]) -> None:
    for task in tasks:
        watched.show(f"#/shop/tasks/{task}")
        watched.page.wait_for_selector(".drawer h2")
        for tab in watched.page.get_by_role("tab").all():
            tab.click()
        watched.check(task)
    watched.show("#/shop/inbox")
    items = watched.page.get_by_role("article")
    expect(items.first).to_be_visible()
    for item in items.all():
        item.click(position={"x": 5, "y": 5})
        watched.check(str(item))
    expect(watched.page.locator(".hidden-char").first).to_be_visible()


def test_what_is_searched_announced_and_opened(
    watched: Watched, shop: Shop, server: Server, tasks: list[str]
) -> None:
    watched.show("#/shop/activity")
    for line in watched.page.locator("button.ac-t").all()[:12]:
        line.click()
    shop.person(server).call("announce", content=PAYLOAD + HIDDEN)
    announced = watched.page.get_by_role("status").filter(has_text="pwned")
    expect(announced.first).to_be_visible()
    watched.page.keyboard.press("Control+k")
    watched.page.keyboard.type("<img")
    expect(watched.page.get_by_role("dialog")).to_contain_text("<img src=x")
    watched.check("the palette")
    watched.page.keyboard.press("Escape")
    watched.show("#/shop/chat/worker-1")
    watched.page.get_by_role("searchbox").fill("<script>")
    expect(watched.page.get_by_role("status").filter(has_text="1")).to_be_visible()
    watched.check("the search")


@pytest.mark.parametrize("address", [f"#/{PAYLOAD[:60]}/board", "#/shop/%3Cimg%20src=x%3E", "#/%"])
def test_an_address_is_text_too(watched: Watched, tasks: list[str], address: str) -> None:
    watched.page.goto(f"{watched.server.url}/{address}")
    expect(watched.page.get_by_role("main")).to_be_visible()
    watched.told.clear()  # the browser itself says that such a project is not found
    watched.check(address)


def test_the_server_sends_no_html(shop: Shop, server: Server, tasks: list[str]) -> None:
    views: dict[str, Any] = shop.person(server).get("/api/projects/shop/state")["views"]
    kinds = {node["type"] for one in views["tasks"].values() for node in flat(one)}
    assert kinds.isdisjoint({"html", "html_block", "html_inline", "image"})
    links = {
        node["href"] for one in views["tasks"].values() for node in flat(one) if "href" in node
    }
    assert all(link.startswith(("http://", "https://", "mailto:")) for link in links)


def flat(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    waiting = list(record.get("description_md") or [])
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.get("children", [])
