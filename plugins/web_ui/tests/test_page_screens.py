"""Every screen in both languages and themes, on a desk and on a phone, without a violation."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Server
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.shop import Person, Shop

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOOKS = [
    (language, theme, width)
    for language in ("ja", "en")
    for theme in ("light", "dark")
    for width in (1440, 390)
]
WATCH = """
window.violations = [];
addEventListener('securitypolicyviolation', (event) => {
  window.violations.push(`${event.violatedDirective} ${event.blockedURI}`);
});
"""


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        shop.open(running)
        shop.ask(running)
        yield running


@pytest.fixture(scope="module")
def anna(shop: Shop, server: Server) -> Person:
    return shop.person(server)


def signed_in(context: BrowserContext, anna: Person) -> None:
    person = {"id": "anna", "name": "Anna Berg", "role": "manager"}
    kept = json.dumps(json.dumps({"token": anna.token, "person": person}))
    context.add_init_script(f"localStorage.setItem('aipm.signin', {kept});{WATCH}")


def screens(shop: Shop) -> list[str]:
    return [
        "#/shop/inbox",
        "#/shop/board",
        f"#/shop/tasks/{shop.tasks['tax']}",
        "#/shop/agents",
        "#/shop/runs/run_1",
        "#/shop/chat",
        "#/shop/chat/worker-1",
        "#/shop/conversations",
        "#/shop/activity",
        "#/shop/start",
        "#/plugins",
        "#/plugins/file_chat",
        "#/settings",
        "#/settings/access",
        "#/settings/rules",
        "#/settings/members",
        "#/settings/connect",
        "#/shop/nowhere",
    ]


def violations(page: Page) -> list[Any]:
    found: list[Any] = page.evaluate(
        """async (rules) => {
            const found = await axe.run(document, { runOnly: rules, resultTypes: ['violations'] });
            return found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)]);
        }""",
        RULES,
    )
    return found


def settled(page: Page) -> None:
    page.wait_for_selector("h1", state="attached")
    page.wait_for_selector(".pill.is-live", state="attached")
    expect(page.locator(".skel")).to_have_count(0)


@pytest.mark.parametrize(("language", "theme", "width"), LOOKS)
def test_every_screen(
    browser: Browser,
    shop: Shop,
    server: Server,
    anna: Person,
    language: str,
    theme: Any,
    width: int,
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": 844 if width < 500 else 900},
        locale=language,
        color_scheme=theme,
        has_touch=width < 500,
        reduced_motion="reduce",
    )
    signed_in(context, anna)
    page = context.new_page()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.goto(server.url)
    settled(page)
    page.evaluate(AXE)
    for address in screens(shop):
        page.evaluate("(hash) => { location.hash = hash; }", address)
        settled(page)
        assert page.get_by_role("main").count() == 1, address
        assert page.locator("h1").count() == 1, address
        assert page.evaluate("document.documentElement.lang") == language
        wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide, f"{address} does not fit {width}"
        assert violations(page) == [], address
    assert told == []
    assert page.evaluate("window.violations") == []
    context.close()


@pytest.mark.parametrize("language", ["ja", "en"])
def test_sign_in_and_overlays(
    browser: Browser, server: Server, anna: Person, language: str
) -> None:
    context = browser.new_context(locale=language, reduced_motion="reduce")
    context.add_init_script(WATCH)
    page = context.new_page()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.goto(server.url)
    page.wait_for_selector(".lo-box")
    page.evaluate(AXE)
    assert violations(page) == []
    signed_in(context, anna)
    page.goto(server.url + "/#/shop/board")
    page.reload()
    settled(page)
    page.evaluate(AXE)
    for key in ("Control+k", "?", "c"):
        page.keyboard.press(key)
        page.wait_for_selector("dialog[open]")
        assert violations(page) == [], key
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="detached")
    assert told == []
    assert page.evaluate("window.violations") == []
    context.close()


def test_roles_and_names(browser: Browser, shop: Shop, server: Server, anna: Person) -> None:
    """What tests and screen readers rely on: regions, articles, buttons, the live state."""
    context = browser.new_context(locale="ja", reduced_motion="reduce")
    signed_in(context, anna)
    page = context.new_page()
    page.goto(server.url + "/#/shop/board")
    settled(page)
    for status in ("バックログ", "未着手", "進行中", "ブロック", "完了"):
        assert page.get_by_role("region", name=status, exact=True).count() == 1
    working = page.get_by_role("region", name="進行中", exact=True)
    assert working.get_by_role("article", name="国別の消費税計算", exact=True).is_visible()
    assert page.get_by_role("status").filter(has_text="接続中").is_visible()
    page.goto(server.url + "/#/shop/inbox")
    settled(page)
    items = page.get_by_role("article")
    assert items.count() == len(anna.get("/api/projects/shop/state")["views"]["inbox"]) > 0
    for item in items.all():
        assert item.get_by_role("button").count() >= 1
    context.close()


def test_words_of_others_are_never_code(browser: Browser, server: Server, anna: Person) -> None:
    bad = [
        "<img src=x onerror='window.pwned=1'>",
        "<script>window.pwned=1</script>",
        "[click](javascript:window.pwned=1)",
        "{{constructor.constructor('window.pwned=1')()}}",
        "\u202eevil\u2066 ${window.pwned=1}",
    ]
    made = [
        anna.call("create_task", project_id="shop", title=text, description=text)["task"]["id"]
        for text in bad
    ]
    context = browser.new_context(locale="en", reduced_motion="reduce")
    signed_in(context, anna)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for task in made:
        page.goto(f"{server.url}/#/shop/tasks/{task}")
        settled(page)
        page.wait_for_selector(".drawer h2")
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("window.violations") == []
    assert page.locator(".drawer a[href^='javascript']").count() == 0
    assert all(url.startswith(server.url) for url in asked)
    context.close()
