"""What people keep an eye on: rules, permissions, sign-ins, and the record of decisions."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from aipm_devkit.program import Server
from playwright.sync_api import Browser, Page, expect

from tests.shop import Refused, Shop

RULES = """
[[plugins.policy.rules]]
tool = "start_conversation"
decision = "REQUIRE_USER_CONFIRMATION"
level = "WARN"
message = "somebody \u202elooks\u202c first"
[[plugins.policy.rules]]
tool = "*"
decision = "DENY"
project = "elsewhere"
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop.make(tmp_path_factory.mktemp("oversight") / "place", locale="en", more=RULES)


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        yield running


@pytest.fixture
def page(browser: Browser, shop: Shop, server: Server) -> Iterator[Page]:
    made = browser.new_context(locale="en", reduced_motion="reduce", accept_downloads=True)
    page = made.new_page()
    code = shop.install.json("open", "--as", "anna", "--print")["code"]
    page.goto(f"{server.url}/#code={code}")
    expect(page.locator(".pill.is-live").first).to_be_attached()
    yield page
    made.close()


def allowed(shop: Shop, server: Server, scope: str, other: str) -> None:
    """Let worker-1 start a conversation, and anna say yes for more than once."""
    anna = shop.person(server)
    agent = shop.agent(server, "worker-1", "chat")
    call = {"participant_agent_id": other, "initial_message": "hi", "purpose": scope}
    asked = shop.background.submit(agent.call, "start_conversation", **call)
    waiting = anna.wait_for_item("confirmation")
    anna.call("provide_confirmation", confirmation_id=waiting["id"], approved=True, scope=scope)
    assert "result" in asked.result(timeout=30)


def test_a_permission_is_seen_and_taken_back(page: Page, shop: Shop, server: Server) -> None:
    allowed(shop, server, "always", "reviewer")
    page.goto(f"{server.url}/#/settings/rules")
    main = page.get_by_role("main")
    expect(main).to_contain_text("broadcast_message")
    expect(main.locator(".hidden-char").first).to_have_text("U+202E")
    expect(main).not_to_contain_text("elsewhere")
    row = page.locator(".set-row").filter(has_text="for good")
    expect(row).to_contain_text("worker-1")
    expect(row).to_contain_text("by anna")
    row.get_by_role("button", name="Revoke").click()
    expect(main).to_contain_text("Nothing is allowed in advance")
    assert shop.person(server).call("list_grants", project_id="shop") == {"grants": []}
    agent = shop.agent(server, "worker-1", "chat")
    call = {"participant_agent_id": "anna", "initial_message": "hi", "purpose": "again"}
    asked = shop.background.submit(agent.call, "start_conversation", **call)
    again = shop.person(server).wait_for_item("confirmation")  # it is asked about again
    shop.person(server).call("provide_confirmation", confirmation_id=again["id"], approved=False)
    assert asked.result(timeout=30)["error"]["code"] == "confirmation_denied"
    with pytest.raises(Refused, match="grant_not_found"):
        shop.person(server).call("revoke_grant", project_id="shop", grant_id="grt_nothing")


def test_sign_ins_are_seen_and_taken_back(page: Page, shop: Shop, server: Server) -> None:
    other = shop.person(server)
    made = other.call("create_token")
    page.goto(f"{server.url}/#/settings/access")
    expect(page.get_by_text("Sign-in of a browser").first).to_be_visible()
    row = page.locator(".set-row").filter(has_text=made["id"])
    expect(row).to_contain_text("Token of a program")
    expect(row).not_to_contain_text("last used")
    expect(page.locator(".set-row").filter(has_text="last used").first).to_be_visible()
    row.get_by_role("button", name="Revoke").click()
    expect(row).to_have_count(0)


def test_the_record_is_opened_verified_and_exported(
    page: Page, shop: Shop, server: Server, tmp_path: Path
) -> None:
    allowed(shop, server, "once", "worker-2")
    page.goto(f"{server.url}/#/shop/activity")
    page.get_by_role("button", name="Decisions").click()
    page.get_by_role("button", name="anna approved start_conversation").first.click()
    expect(page.get_by_label("The record").first).to_contain_text('"verb": "confirmation.approved"')
    page.get_by_role("button", name="Verify now").click()
    status = page.get_by_role("status").filter(has_text="Audit chain verified")
    expect(status).to_be_visible()
    with page.expect_download() as given:
        page.get_by_role("button", name="Export").click()
    assert given.value.suggested_filename == "shop-audit.jsonl"
    given.value.save_as(tmp_path / "audit.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    seqs = [line["seq"] for line in lines]
    assert seqs == sorted(seqs)
    assert {line["project_id"] for line in lines} == {"shop"}
    answered = [line for line in lines if line.get("human_id") == "anna"]
    assert any(line["tool"] == "start_conversation" for line in answered)
    with closing(sqlite3.connect(shop.install.root / ".aipm-data" / "aipm.db")) as store, store:
        store.execute("update policy_audit set entry = replace(entry, 'anna', 'ken')")
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_role("status").filter(has_text="tampered")).to_be_visible()


def test_the_trail_is_for_managers(shop: Shop, server: Server) -> None:
    ken = shop.person(server, "ken")
    for tool, given in (("verify_audit", {}), ("list_audit", {"project_id": "shop"})):
        with pytest.raises(Refused, match="manager_required"):
            ken.call(tool, **given)
    anna = shop.person(server)
    newest = anna.call("list_audit", project_id="shop", limit=2)
    assert newest["has_more"]
    last = newest["entries"][-1]["seq"]
    older = anna.call("list_audit", project_id="shop", before=last, limit=1000)["entries"]
    assert [entry["seq"] for entry in older] == sorted(
        (entry["seq"] for entry in older), reverse=True
    )
    assert older[0]["seq"] < last
