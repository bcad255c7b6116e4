"""The screen of the plugins: what is installed, what hangs on what, and panels of others."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from aipm_devkit.program import Server
from playwright.sync_api import Browser, Page, expect

from tests.shop import Refused, Shop

MORE = """
[plugins.clock]
zone = "Europe/Berlin"
[plugins.markers]
enabled = false
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop.make(tmp_path_factory.mktemp("plugins") / "place", locale="en", more=MORE)


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        yield running


def opened(browser: Browser, shop: Shop, server: Server, person: str, address: str) -> Page:
    page = browser.new_context(locale="en", reduced_motion="reduce").new_page()
    code = shop.install.json("open", "--as", person, "--print")["code"]
    page.goto(f"{server.url}/#code={code}")
    expect(page.locator(".pill.is-live").first).to_be_attached()
    page.goto(f"{server.url}/#/{address}")
    return page


def test_a_panel_of_a_strangers_plugin(browser: Browser, shop: Shop, server: Server) -> None:
    page = opened(browser, shop, server, "anna", "plugins/clock")
    detail = page.get_by_role("article", name="clock")
    expect(detail).to_contain_text("Named in aipm.toml")
    expect(detail.get_by_role("region", name="Time zone")).to_contain_text("Europe/Berlin")
    expect(detail).to_contain_text("Turn on only what you trust")
    page.context.close()


def test_what_switching_off_means(browser: Browser, shop: Shop, server: Server) -> None:
    page = opened(browser, shop, server, "anna", "plugins/file_chat")
    detail = page.get_by_role("article", name="file_chat")
    expect(detail.get_by_role("link", name="conversations")).to_be_visible()
    detail.get_by_role("button", name="Turn off…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("pre")).to_have_text("[plugins.file_chat]\nenabled = false")
    expect(dialog).to_contain_text("send_message")
    expect(dialog).to_contain_text("the server would not start with them on: conversations")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="markers").first.click()
    off = page.get_by_role("article", name="markers")
    expect(off).to_contain_text("Switched off in aipm.toml")
    expect(off.get_by_role("button", name="Check now")).to_have_count(0)
    page.context.close()


def test_a_manager_has_a_plugin_checked(browser: Browser, shop: Shop, server: Server) -> None:
    page = opened(browser, shop, server, "anna", "plugins/file_chat")
    health = page.get_by_role("article", name="file_chat").get_by_role("status")
    expect(health).to_contain_text("Running")
    health.get_by_role("button", name="Check now").click()
    expect(health).to_contain_text("Checked")
    expect(health.locator(".c-good").first).to_be_visible()
    page.context.close()
    other = opened(browser, shop, server, "ken", "plugins/file_chat")
    expect(other.get_by_role("article", name="file_chat")).to_be_visible()
    expect(other.get_by_role("button", name="Check now")).to_have_count(0)
    other.context.close()


def test_the_list_is_that_of_the_command_line(shop: Shop, server: Server) -> None:
    told = {one["name"]: one for one in shop.person(server).call("list_plugins")["plugins"]}
    listed = shop.install.json("plugins", "list")
    assert {one["name"]: one["enabled"] for one in listed} == {
        name: one["state"] == "on" for name, one in told.items()
    }
    shown = [one for one in told.values() if one["first_party"] or one["state"] == "on"]
    assert all(set(one["summary"]) == {"ja", "en"} for one in shown)
    with pytest.raises(Refused, match="plugin_not_found"):
        shop.person(server).call("check_plugin", name="nothing")
    with pytest.raises(Refused, match="manager_required"):
        shop.person(server, "ken").call("check_plugin", name="tasks")


def test_an_optional_plugin_that_fails_says_why(browser: Browser, tmp_path: Path) -> None:
    lacking = "[plugins.file_chat]\nenabled = false\n" + "".join(
        f"[plugins.{name}]\noptional = true\n" for name in ("conversations", "markers")
    )
    shop = Shop.make(tmp_path / "place", locale="en", more=lacking)
    with shop.install.up() as server:
        told = shop.person(server).call("list_plugins")["plugins"]
        page = opened(browser, shop, server, "ken", "plugins/markers")
        expect(page.get_by_role("article", name="markers")).to_contain_text("Does not start: ")
        page.context.close()
    (markers,) = [one for one in told if one["name"] == "markers"]
    assert markers["state"] == "failed"
    assert "file_chat" in markers["problem"]
    assert sorted(markers["requires"]) == ["file_chat", "sessions"]
