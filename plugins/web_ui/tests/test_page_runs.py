"""Runs on the page, in a real browser, with real programs: seen, stopped, taken back, explained."""

from collections.abc import Iterator
from typing import Any

import pytest
from aipm_devkit.program import Server
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.test_page_screens import AXE, LOOKS, settled, signed_in, violations

from tests import shop_runs
from tests.shop import Person, Shop
from tests.shop_runs import Runs


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return shop_runs.make(tmp_path_factory.mktemp("runs") / "place")


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        yield running


@pytest.fixture(scope="module")
def runs(shop: Shop, server: Server) -> Runs:
    return shop_runs.start(shop, server)


@pytest.fixture(scope="module")
def anna(shop: Shop, server: Server) -> Person:
    return shop.person(server)


def opened(
    browser: Browser, anna: Person, language: str = "en", **how: Any
) -> tuple[BrowserContext, Page, list[str]]:
    context = browser.new_context(locale=language, reduced_motion="reduce", **how)
    signed_in(context, anna)
    page = context.new_page()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    return context, page, told


def addresses(runs: Runs) -> list[str]:
    task = runs["packer"]["task_id"]
    return [
        f"#/shop/runs/{runs['builder']['id']}",
        f"#/shop/runs/{runs['packer']['id']}/changes",
        f"#/shop/runs/{runs['tester']['id']}",
        f"#/shop/inbox/{runs['tester']['id']}",
        f"#/shop/tasks/{task}",
        "#/shop/agents",
        "#/shop/board",
    ]


@pytest.mark.parametrize(("language", "theme", "width"), LOOKS)
def test_screens_of_runs(
    browser: Browser,
    server: Server,
    anna: Person,
    runs: Runs,
    language: str,
    theme: Any,
    width: int,
) -> None:
    size: Any = {"width": width, "height": 844 if width < 500 else 900}
    context, page, told = opened(
        browser, anna, language, viewport=size, color_scheme=theme, has_touch=width < 500
    )
    page.goto(server.url)
    settled(page)
    page.evaluate(AXE)
    for address in addresses(runs):
        page.evaluate("(hash) => { location.hash = hash; }", address)
        settled(page)
        if address.startswith("#/shop/tasks"):
            page.locator("#tab-changes").click()
            expect(page.locator(".file")).to_have_count(2)
        assert page.locator("h1").count() == 1, address
        wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide, f"{address} does not fit {width}"
        assert violations(page) == [], address
    assert told == []
    assert page.evaluate("window.violations") == []
    context.close()


def test_a_run_is_read(browser: Browser, server: Server, anna: Person, runs: Runs) -> None:
    context, page, told = opened(browser, anna)
    page.goto(f"{server.url}/#/shop/runs/{runs['builder']['id']}")
    log = page.get_by_role("log", name="Log")
    expect(log).to_contain_text("まずタスクと今のコードを読みます。")
    assert "\x1b" not in log.inner_text()
    folded = log.get_by_role("button", name="Tool calls: 3")
    expect(folded).to_contain_text("get_my_task, list_tasks, update_task_status")
    folded.click()
    expect(log.get_by_role("listitem").first).to_contain_text("get_my_task")
    rail = page.get_by_role("complementary", name="About this run")
    for text in (f"aipm/builder/{runs['builder']['task_id']}", "not reported", "worktrees"):
        expect(rail).to_contain_text(text)
    page.get_by_role("tab", name="Changes").click()
    first = page.locator("details.file").first
    expect(first).to_contain_text("src/price.js")
    expect(first.locator("tr.add")).to_have_count(7)
    expect(first.locator("tr.del")).to_have_count(2)
    page.goto(f"{server.url}/#/shop/runs/run_none")
    expect(page.get_by_role("heading", name="There is no such run")).to_be_visible()
    assert told == []
    context.close()


def test_a_run_is_taken_back(browser: Browser, server: Server, anna: Person, runs: Runs) -> None:
    context, page, _ = opened(browser, anna)
    page.goto(f"{server.url}/#/shop/runs/{runs['packer']['id']}")
    page.get_by_role("button", name="More actions: packer").click()
    page.get_by_role("menuitem", name="Take back").click()
    dialog = page.get_by_role("dialog")
    for text in ("src/price.js", "src/rates.js", f"refs/aipm/undone/{runs['packer']['id']}"):
        expect(dialog).to_contain_text(text)
    dialog.get_by_role("button", name="Take back").click()
    expect(page.get_by_text("anna took this run back.")).to_be_visible()
    context.close()


def test_an_agent_says_why_it_does_not_run_and_gets_another_program(
    browser: Browser, server: Server, anna: Person, runs: Runs
) -> None:
    context, page, _ = opened(browser, anna)
    page.goto(f"{server.url}/#/shop/agents")
    needs = page.get_by_role("region", name="Needs you")
    expect(needs).to_contain_text("Failed; the inbox asks whether to try again")
    off = page.get_by_role("region", name="Not running")
    expect(off).to_contain_text("Nothing to do: it starts when it has a task or a message")
    expect(off).to_contain_text("No program: a person starts it")
    needs.get_by_role("button", name="More actions: tester").click()
    page.get_by_role("menuitem", name="Program and role").click()
    program = page.get_by_role("dialog").get_by_label("Program")
    expect(program.locator("option").first).to_have_text("None: a person starts it")
    expect(program.locator("option", has_text="packer")).to_be_attached()
    offered = program.locator("option").all_inner_texts()
    assert {"builder", "codex-old", "packer", "script"} <= set(offered)
    program.select_option("packer")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_role("region", name="Needs you").get_by_text("tester")).to_have_count(0)
    page.goto(f"{server.url}/#/shop/board")
    done = page.get_by_role("region", name="Done")
    expect(done.get_by_role("article", name="カートのテスト")).to_be_visible()
    context.close()


def test_a_run_is_stopped_and_the_inbox_asks(
    browser: Browser, server: Server, anna: Person, runs: Runs
) -> None:
    context, page, _ = opened(browser, anna)
    page.goto(f"{server.url}/#/shop/runs/{runs['builder']['id']}")
    expect(page.get_by_role("button", name="Interrupt")).to_be_visible()
    page.get_by_role("button", name="More actions: builder").click()
    page.get_by_role("menuitem", name="Stop…").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped by a person")).to_be_visible()
    page.get_by_role("button", name="Try again").wait_for()
    page.goto(f"{server.url}/#/shop/inbox/{runs['builder']['id']}")
    item = page.get_by_role("article", name="builder は停止されました")
    expect(item).to_contain_text("anna が停止しました。")
    item.get_by_role("button", name="Leave it").click()
    expect(item).to_contain_text("Left as it is by anna")
    context.close()
