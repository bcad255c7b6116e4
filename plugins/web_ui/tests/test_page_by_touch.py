"""What people do with a finger on a phone, and the journeys between projects."""

import re
from collections.abc import Iterator

import pytest
from aipm_devkit.program import Server
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.shop import Shop


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    made = Shop.make(tmp_path_factory.mktemp("touch") / "place", locale="en")
    made.install.run("project", "add", "lab", "--dir", "lab", "--name", "The lab")
    made.install.run("agent", "assign", "anna", "--project", "lab")
    return made


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        shop.open(running)
        yield running


def signed_in(browser: Browser, shop: Shop, server: Server, *, touch: bool) -> Page:
    size = ViewportSize(width=390, height=844) if touch else ViewportSize(width=1280, height=800)
    context = browser.new_context(
        locale="en", reduced_motion="reduce", has_touch=touch, is_mobile=touch, viewport=size
    )
    page = context.new_page()
    code = shop.install.json("open", "--as", "anna", "--print")["code"]
    page.goto(f"{server.url}/#code={code}")
    expect(page.locator(".pill.is-live").first).to_be_attached()
    return page


@pytest.fixture
def phone(browser: Browser, shop: Shop, server: Server) -> Iterator[Page]:
    page = signed_in(browser, shop, server, touch=True)
    yield page
    page.context.close()


@pytest.fixture
def desk(browser: Browser, shop: Shop, server: Server) -> Iterator[Page]:
    page = signed_in(browser, shop, server, touch=False)
    yield page
    page.context.close()


def test_a_request_is_approved_by_touch(phone: Page, shop: Shop, server: Server) -> None:
    phone.goto(f"{server.url}/#/shop/inbox")
    item = phone.get_by_role("article").filter(has_text="Index on orders.created_at")
    item.first.tap()
    phone.get_by_role("button", name="Approve").first.tap()
    expect(phone.get_by_role("status").filter(has_text="approved by anna").first).to_be_visible()
    tasks = shop.person(server).get("/api/projects/shop/state")["views"]["tasks"].values()
    (made,) = [one for one in tasks if one["title"] == "Index on orders.created_at"]
    assert made["approval_status"] == "approved"


def test_a_task_is_made_and_moved_by_touch(phone: Page, shop: Shop, server: Server) -> None:
    phone.goto(f"{server.url}/#/shop/board")
    phone.get_by_role("button", name="New task").first.tap()
    phone.locator("[data-first]").fill("By finger")
    phone.get_by_role("button", name="Create task").tap()
    phone.get_by_role("button", name=re.compile("^To do")).tap()  # a phone shows one column
    card = phone.get_by_role("article", name="By finger", exact=True)
    card.get_by_role("button", name="Actions for By finger").tap()
    phone.get_by_role("menuitem", name="In progress").tap()
    expect(card).to_have_count(0)
    phone.get_by_role("button", name=re.compile("^In progress")).tap()
    doing = phone.get_by_role("region", name="In progress", exact=True)
    expect(doing.get_by_role("article", name="By finger", exact=True)).to_be_attached()


def test_a_message_is_written_by_touch(phone: Page, server: Server) -> None:
    phone.goto(f"{server.url}/#/shop/inbox")
    phone.get_by_role("link", name="Chat").first.tap()
    phone.get_by_role("link", name="worker-1").first.tap()
    phone.get_by_label("Message to worker-1").fill("from the train")
    phone.get_by_role("button", name="Send").tap()
    expect(phone.get_by_role("log")).to_contain_text("from the train")


def test_the_project_is_switched(desk: Page, shop: Shop, server: Server) -> None:
    desk.goto(f"{server.url}/#/shop/board")
    expect(desk.get_by_role("article", name="Tax per country")).to_be_visible()
    desk.get_by_role("button", name="Project").first.click()
    desk.get_by_role("menuitemradio", name="lab").or_(
        desk.get_by_role("menuitem", name="lab")
    ).first.click()
    expect(desk.locator(".project")).to_contain_text("The lab")
    expect(desk.get_by_role("article", name="Tax per country")).to_have_count(0)
    assert "#/lab/" in desk.url
    shop.person(server).call("create_task", project_id="shop", title="only in the shop")
    shop.person(server).call("create_task", project_id="lab", title="only in the lab")
    desk.goto(f"{server.url}/#/lab/board")
    expect(desk.get_by_role("article", name="only in the lab")).to_be_visible()
    expect(desk.get_by_role("article", name="only in the shop")).to_have_count(0)


def test_a_task_is_found_and_opened(desk: Page, server: Server) -> None:
    desk.goto(f"{server.url}/#/shop/inbox")
    desk.keyboard.press("Control+k")
    desk.keyboard.type("totals as int")
    expect(desk.get_by_role("option").first).to_contain_text("Order totals as integers")
    desk.keyboard.press("Enter")
    expect(desk.locator(".drawer h2")).to_contain_text("Order totals as integers")
    assert "#/shop/tasks/tsk_" in desk.url


def test_the_first_steps_tick_themselves(desk: Page, shop: Shop, server: Server) -> None:
    shop.install.run("project", "add", "new", "--dir", "new")
    shop.install.run("agent", "assign", "anna", "--project", "new")
    shop.install.run("agent", "assign", "reviewer", "--project", "new")
    desk.goto(f"{server.url}/#/new/start")
    steps = desk.locator(".fr-step")
    expect(desk.locator("[aria-current=step]")).to_contain_text("Connect the first agent")
    login = {"agent_id": "reviewer", "passkey": shop.passkeys["reviewer"], "project_id": "new"}
    agent = shop.agent(server, "reviewer", "chat")
    agent.token = agent.result("authenticate", **login, purpose="task")["session_token"]
    expect(desk.locator("[aria-current=step]")).to_contain_text("Give it a task")
    shop.person(server).call("create_task", project_id="new", title="first")
    expect(desk.locator("[aria-current=step]")).to_contain_text("Answer its first question")
    expect(steps.filter(has_text="Done")).to_have_count(4)
