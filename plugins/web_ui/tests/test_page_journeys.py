"""What people do on the page, by mouse and by keyboard, against the real server and real agents."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from aipm_devkit.program import Server
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.shop import Person, Shop

Open = Callable[..., Page]


class Running:
    """A server that can be killed and started again at the same address."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self._stack = ExitStack()
        self.server: Server = self._stack.enter_context(shop.install.up())

    def kill(self) -> None:
        os.kill(self.server.process.pid, signal.SIGKILL)
        self.server.process.wait()
        self._stack.close()

    def again(self) -> None:
        port = self.server.url.rpartition(":")[2]
        self._stack = ExitStack()
        self.server = self._stack.enter_context(self.shop.install.up("--port", port))

    def close(self) -> None:
        self._stack.close()


@pytest.fixture(scope="module")
def running(shop: Shop) -> Iterator[Running]:
    made = Running(shop)
    shop.open(made.server)
    yield made
    made.close()


@pytest.fixture
def opened(browser: Browser, running: Running) -> Iterator[Open]:
    """Open the page as somebody, signed in by a code as people do."""
    contexts: list[BrowserContext] = []

    def make(person: str = "anna", address: str = "board", **more: object) -> Page:
        context = browser.new_context(locale="ja", reduced_motion="reduce", **more)  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()
        code = running.shop.install.json("open", "--as", person, "--print")["code"]
        page.goto(f"{running.server.url}/#code={code}")
        live(page)
        page.goto(f"{running.server.url}/#/shop/{address}")
        return page

    yield make
    for context in contexts:
        context.close()


def live(page: Page) -> None:
    expect(page.locator(".pill.is-live").first).to_be_attached(timeout=15_000)


def column(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def card(page: Page, title: str) -> Locator:
    return page.get_by_role("article", name=title, exact=True)


def new_task(running: Running, title: str, status: str = "todo", **more: str) -> str:
    person: Person = running.shop.person(running.server)
    given = {"project_id": "shop", "title": title, "status": status, **more}
    task: str = person.call("create_task", **given)["task"]["id"]
    return task


def test_a_code_signs_in_once_and_a_new_tab_needs_none(running: Running, browser: Browser) -> None:
    context = browser.new_context(locale="en")
    page = context.new_page()
    code = running.shop.install.json("open", "--as", "anna", "--print")["code"]
    page.goto(f"{running.server.url}/#code={code}")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    assert code not in page.url
    assert context.cookies() == []
    other = context.new_page()
    other.goto(running.server.url)
    expect(other.get_by_role("heading", name="Inbox")).to_be_visible()
    stranger = browser.new_context(locale="en").new_page()
    stranger.goto(f"{running.server.url}/#code={code}")
    expect(stranger.get_by_role("alert")).to_contain_text("aipm open")
    stranger.context.close()
    page.get_by_role("button", name="Account and appearance").click()
    page.get_by_role("menuitem", name="Sign out").click()
    for one in (page, other):
        expect(one.get_by_role("heading", name="Sign in")).to_be_visible()
    context.close()


def test_a_code_may_be_typed_in_any_way(running: Running, browser: Browser) -> None:
    context = browser.new_context(locale="ja")
    page = context.new_page()
    page.goto(running.server.url)
    code = running.shop.install.json("open", "--as", "ken", "--print")["code"]
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in code.lower())
    box = page.get_by_label("ワンタイムコード")
    box.fill("WRONG234")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("aipm open")
    box.fill(f" {wide[:4]}－{wide[4:]} ")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="受信箱")).to_be_visible()
    context.close()


def test_create_and_move_by_keyboard_alone(opened: Open) -> None:
    page = opened()
    page.keyboard.press("c")
    page.get_by_role("dialog").get_by_label("題名").or_(
        page.locator("[data-first]")
    ).first.wait_for()
    page.keyboard.type("鍵盤だけで作る")
    page.keyboard.press("Control+Enter")
    expect(column(page, "未着手").get_by_role("article", name="鍵盤だけで作る")).to_be_visible()
    card(page, "鍵盤だけで作る").get_by_role("link").focus()
    page.keyboard.press("Alt+ArrowRight")
    expect(column(page, "進行中").get_by_role("article", name="鍵盤だけで作る")).to_be_visible()
    card(page, "鍵盤だけで作る").get_by_role("link").focus()
    page.keyboard.press("m")
    page.get_by_role("menuitem", name="完了").focus()
    page.keyboard.press("Enter")
    expect(column(page, "完了").get_by_role("article", name="鍵盤だけで作る")).to_be_visible()


def test_create_and_move_by_mouse(opened: Open) -> None:
    page = opened()
    page.get_by_role("button", name="新しいタスク").click()
    page.locator("[data-first]").fill("マウスで作る")
    page.get_by_role("button", name="タスクを作成").click()
    expect(column(page, "未着手").get_by_role("article", name="マウスで作る")).to_be_visible()
    card(page, "マウスで作る").drag_to(column(page, "進行中"))
    expect(column(page, "進行中").get_by_role("article", name="マウスで作る")).to_be_visible()
    page.get_by_role("button", name="元に戻す").click()
    expect(column(page, "未着手").get_by_role("article", name="マウスで作る")).to_be_visible()


def test_a_forbidden_move_cannot_be_dropped_and_says_why(opened: Open, running: Running) -> None:
    new_task(running, "飛び越せない")
    page = opened()
    one = card(page, "飛び越せない")
    one.hover()
    page.mouse.down()
    target = column(page, "完了").bounding_box()
    assert target is not None
    page.mouse.move(target["x"] + 60, target["y"] + 120, steps=8)
    expect(column(page, "完了").locator(".col-no")).to_contain_text("未着手")
    page.mouse.up()
    expect(column(page, "未着手").get_by_role("article", name="飛び越せない")).to_be_visible()


def test_a_refused_move_goes_back(opened: Open, running: Running) -> None:
    task = new_task(running, "先に終わる")
    page = opened()
    expect(card(page, "先に終わる")).to_be_visible()
    page.route(
        "**/api/tools/move_task",
        lambda route: route.fulfill(
            status=409,
            json={"error": {"code": "invalid_transition", "status": 409, "message": "だめ"}},
        ),
    )
    card(page, "先に終わる").drag_to(column(page, "進行中"))
    expect(page.locator(".toast")).to_contain_text("だめ")
    expect(column(page, "未着手").get_by_role("article", name="先に終わる")).to_be_visible()
    assert task


def test_yes_to_exactly_what_is_shown(opened: Open, running: Running) -> None:
    page = opened("anna", "inbox")
    asked = running.shop.ask(running.server, "release\u202e2.0")
    item = page.get_by_role("article", name="worker-2 が broadcast_message を使おうとしています")
    expect(item).to_be_visible()
    item.click()
    expect(item.locator(".hidden-char").first).to_have_text("U+202E")
    expect(item).to_contain_text("全員に送る前に人が確認します")
    yes = item.get_by_role("button", name="今回だけ承認")
    yes.click()  # it opens only after a moment to read
    answer = asked.result(timeout=30)
    assert "result" in answer, answer
    expect(item.get_by_role("status")).to_contain_text("anna が承認")


def test_no_with_a_reason_by_keyboard(opened: Open, running: Running) -> None:
    page = opened("anna", "inbox")
    asked = running.shop.ask(running.server, "again")
    item = page.get_by_role("article", name="worker-2 が broadcast_message を使おうとしています")
    expect(item).to_be_visible()  # what is critical comes first in the list
    for _ in range(9):
        page.keyboard.press("k")
    expect(item.get_by_role("button", name="拒否")).to_be_visible()
    page.keyboard.press("d")
    page.get_by_label("理由（エージェントが読みます）").fill("まだ早い")
    page.keyboard.press("Control+Enter")
    answer = asked.result(timeout=30)
    assert answer["error"]["code"] == "confirmation_denied"
    assert "まだ早い" in answer["error"]["message"]
    expect(item.get_by_role("status")).to_contain_text("anna が拒否")


def test_two_people_see_each_others_effects(opened: Open, running: Running) -> None:
    new_task(running, "二人で見る")
    anna, ken = opened("anna"), opened("ken")
    card(ken, "二人で見る").drag_to(column(ken, "進行中"))
    expect(column(anna, "進行中").get_by_role("article", name="二人で見る")).to_be_visible()
    name = "worker-2 が broadcast_message を使おうとしています"
    for page in (anna, ken):
        page.goto(f"{running.server.url}/#/shop/inbox")
    asked = running.shop.ask(running.server, "for two")
    for page in (anna, ken):
        expect(page.get_by_role("article", name=name)).to_be_visible()
    ken.get_by_role("article", name=name).click()
    anna.get_by_role("article", name=name).click()
    ken.get_by_role("button", name="今回だけ承認").click()
    assert "result" in asked.result(timeout=30)
    expect(anna.get_by_role("article", name=name).get_by_role("status")).to_contain_text(
        "ken が承認"
    )


def test_an_interrupt_in_three_stages(opened: Open, running: Running) -> None:
    agent = running.shop.agent(running.server, "reviewer", "task")
    page = opened("anna", "agents")
    row = page.locator("[data-session]").filter(has_text="reviewer").filter(has_text="タスクなし")
    row = row.filter(has=page.locator(".tag", has_text="タスク"))
    row.get_by_role("button", name="割り込み", exact=True).click()
    page.get_by_role("button", name="割り込みを送る").click()
    stages = row.get_by_role("list", name="割り込みの進み具合")
    expect(stages.locator("[aria-current=step]")).to_contain_text("次のツール呼び出しで停止")
    agent.call("list_tasks")
    expect(stages.locator("[aria-current=step]")).to_contain_text("次のツール呼び出しで停止")
    agent.call("get_notifications")
    expect(stages.locator("[aria-current=step]")).to_contain_text("停止しました")
    agent.call("logout")
    expect(row).to_have_count(0)


def test_markers_and_a_japanese_conversion(opened: Open, running: Running) -> None:
    page = opened("anna", "chat/worker-1")
    box = page.get_by_label("worker-1 へのメッセージ")
    box.click()
    keyboard = page.context.new_cdp_session(page)
    compose = {"text": "にほんご", "selectionStart": 4, "selectionEnd": 4}
    keyboard.send("Input.imeSetComposition", compose)
    enter = {"windowsVirtualKeyCode": 229, "key": "Enter", "code": "Enter"}
    keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **enter})
    keyboard.send("Input.dispatchKeyEvent", {"type": "keyUp", **enter})
    expect(box).to_have_value("にほんご")
    keyboard.send("Input.insertText", {"text": "日本語"})
    expect(box).to_have_value("日本語")
    page.keyboard.press("Enter")
    log = page.get_by_role("log")
    expect(log).to_contain_text("日本語")
    expect(box).to_have_value("")
    keyboard.send("Input.insertText", {"text": "＠＠タスク作"})
    expect(page.get_by_role("option")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(box).to_have_value("@@タスク作成: ")
    page.keyboard.type("buy milk")
    expect(page.locator(".mk-prev")).to_contain_text("request_task")
    page.keyboard.press("Enter")
    expect(log).to_contain_text("buy milk")
    messages = running.shop.person(running.server).get(
        "/api/projects/shop/agents/worker-1/chat/messages?limit=200"
    )["messages"]
    assert [one["content"] for one in messages][-2:] == ["日本語", "@@タスク作成: buy milk"]


def test_the_agents_reading_is_seen(opened: Open, running: Running) -> None:
    page = opened("anna", "chat/reviewer")
    page.get_by_label("reviewer へのメッセージ").fill("見えますか")
    page.keyboard.press("Enter")
    bubble = page.locator(".bub").filter(has_text="見えますか")
    expect(bubble.locator(".receipt")).not_to_contain_text("既読")
    reader = running.shop.agent(running.server, "reviewer", "chat")
    reader.result("get_pending_messages")
    expect(bubble.locator(".receipt")).to_contain_text("既読")


def test_a_message_changes_until_it_is_seen(opened: Open, running: Running) -> None:
    page = opened("anna", "chat/worker-2")
    for text in ("書き間違い", "取り消すもの"):
        page.get_by_label("worker-2 へのメッセージ").fill(text)
        page.keyboard.press("Enter")
        expect(page.locator(".bub").filter(has_text=text)).to_be_visible()
    wrong = page.locator(".bub").filter(has_text="書き間違い")
    wrong.get_by_role("button", name="編集").click()
    box = page.get_by_role("textbox", name="編集")
    box.fill("正しい文")
    box.press("Enter")
    right = page.locator(".bub").filter(has_text="正しい文")
    expect(right).to_contain_text("編集済み")
    gone = page.locator(".bub").filter(has_text="取り消すもの")
    gone.get_by_role("button", name="取り消す").click()
    expect(gone).to_have_count(0)
    expect(page.locator(".bub").filter(has_text="読まれる前に取り消されました")).to_have_count(2)
    reader = running.shop.agent(running.server, "worker-2", "chat")
    given = reader.result("get_pending_messages")["pending_messages"]
    assert [one["content"] for one in given if one["senderId"] == "anna"] == ["正しい文"]
    expect(right.locator(".receipt")).to_contain_text("既読")
    expect(right.get_by_role("button")).to_have_count(0)


def test_many_tabs_share_one_stream(opened: Open, running: Running) -> None:
    first = opened()
    pages = [first] + [first.context.new_page() for _ in range(11)]
    for page in pages[1:]:
        page.goto(f"{running.server.url}/#/shop/board")
        live(page)
    new_task(running, "全部の画面に")
    for page in pages:
        expect(card(page, "全部の画面に")).to_be_visible()
        fetched = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
        assert not [name for name in fetched if "/stream" in name or "/state" in name]


def test_a_browser_without_shared_workers_follows_too(opened: Open, running: Running) -> None:
    page = opened()
    page.context.add_init_script("delete globalThis.SharedWorker;")
    page.reload()
    live(page)
    new_task(running, "直接つなぐ")
    expect(card(page, "直接つなぐ")).to_be_visible()


def test_an_unknown_project_is_nowhere(opened: Open, running: Running) -> None:
    page = opened()
    page.goto(f"{running.server.url}/#/secret/board")
    expect(page.get_by_role("heading", name="ここには何もありません")).to_be_visible()
    expect(page.get_by_role("button", name="新しいタスク")).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="再接続")).to_have_count(0)
    page.goto(f"{running.server.url}/#/shop/board")
    live(page)


def test_an_announcement_reaches_the_page(opened: Open, running: Running) -> None:
    page = opened("ken", "inbox")
    running.shop.person(running.server).call("announce", content="昼休みです")
    banner = page.get_by_role("status").filter(has_text="昼休みです")
    expect(banner).to_be_visible()
    banner.get_by_role("button", name="閉じる").click()
    expect(banner).to_have_count(0)


def test_a_manager_adds_a_member_and_sees_the_passkey_once(opened: Open, running: Running) -> None:
    page = opened("anna", "inbox")
    page.goto(f"{running.server.url}/#/settings/members")
    page.get_by_role("button", name="メンバーを追加").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("[data-first]").fill("worker-9")
    dialog.get_by_role("button", name="メンバーを追加").click()
    expect(dialog.locator("pre")).to_contain_text("aipm_pk_")
    dialog.get_by_role("button", name="閉じる").last.click()
    expect(page.get_by_role("rowheader", name="worker-9")).to_be_visible()


def test_who_is_no_manager_is_offered_less(opened: Open, running: Running) -> None:
    page = opened("ken", "inbox")
    page.goto(f"{running.server.url}/#/settings/members")
    expect(page.get_by_role("rowheader", name="anna")).to_be_visible()
    assert page.get_by_role("button", name="メンバーを追加").count() == 0


def test_a_long_column_is_drawn_to_its_end(opened: Open, running: Running) -> None:
    """What fits the screen comes first; nothing stays away."""
    for number in range(18):
        new_task(running, f"長い列 {number}")
    expect(card(opened(), "長い列 17")).to_be_attached()


def test_losing_and_regaining_the_server(opened: Open, running: Running) -> None:
    page = opened()
    expect(column(page, "進行中")).to_be_visible()
    running.kill()
    expect(page.locator(".banner")).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="切断")).to_be_visible(timeout=20_000)
    assert page.locator("[draggable=true]").count() == 0
    running.shop.install.run("task", "add", "--project", "shop", "--title", "留守の間に")
    running.again()
    page.get_by_role("button", name="今すぐ接続").click()
    live(page)
    expect(card(page, "留守の間に")).to_be_visible()
    expect(page.locator(".banner")).to_have_count(0)
