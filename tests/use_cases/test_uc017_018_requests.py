"""UC017 and UC018: work that somebody asks for waits for who may say yes."""

import pytest
from playwright.sync_api import expect

from tests.use_cases.world import Case, card

REQUESTS = """
until("get_pending_messages")
(message,) = messages()
made = result("request_task", title=message["content"].split(": ", 1)[1])
say(message["senderId"], made["message"])
result("logout")
"""


def test_uc017_a_person_answers_task_requests(case: Case) -> None:
    """What one agent asks another to do waits on the board; yes starts it, no says why."""
    asker = case.agent("uc017-asker", program="")
    helper = case.agent("uc017-helper")
    session = case.session(asker, "task")
    made = {
        title: session.result("create_task", title=title, assignee_id=helper)["task"]["id"]
        for title in ("Add an index", "Drop the table")
    }
    page = case.open()
    for title, task in made.items():
        expect(card(page, title, "Backlog")).to_contain_text("Waits for approval")
        assert case.record("tasks", id=task)["approval_status"] == "pending_approval"
    case.go(page, f"inbox/{case.record('inbox', task_id=made['Add an index'])['id']}")
    item = page.get_by_role("article").filter(has_text="Add an index").first
    item.get_by_role("button", name="Approve task").click()
    case.record("tasks", id=made["Add an index"], approval_status="approved")
    case.go(page, f"inbox/{case.record('inbox', task_id=made['Drop the table'])['id']}")
    item = page.get_by_role("article").filter(has_text="Drop the table").first
    item.get_by_role("button", name="Reject").click()
    page.get_by_label("Reason (the agent reads it)").fill("Never")
    page.keyboard.press("Control+Enter")
    rejected = case.record("tasks", id=made["Drop the table"], approval_status="rejected")
    assert rejected["status"] == "cancelled"
    case.go(page, "board")
    expect(card(page, "Add an index", "Backlog")).not_to_contain_text("Waits for approval")
    expect(card(page, "Drop the table", "Backlog")).to_have_count(0)
    notes = session.result("get_notifications")["notifications"]
    assert any(one.get("reason") == "Never" for one in notes)


@pytest.mark.parametrize(("case", "asker"), [("", "tanaka"), ("b", "sato")], indirect=["case"])
def test_uc018_a_person_asks_for_a_task_in_a_chat(case: Case, asker: str) -> None:
    """A colleague's request waits for the superior; (018-B) the superior's own needs nobody."""
    case.member(f"{case.name}-sato", "佐藤", role="manager")
    case.member(f"{case.name}-tanaka", "田中")
    worker = case.agent(f"{case.name}-worker", chat=REQUESTS, parent_id=f"{case.name}-sato")
    page = case.open(f"chat/{worker}", who=f"{case.name}-{asker}")
    page.get_by_label(f"Message to {worker}").fill("@@create-task: Buy milk")
    page.keyboard.press("Enter")
    task = case.record("tasks", title="Buy milk")
    assert (task["assignee_id"], task["requester_id"]) == (worker, f"{case.name}-{asker}")
    assert task["status"] == "backlog"
    if asker == "sato":
        assert task["approval_status"] == "approved"
        case.go(page, "board")
        expect(card(page, "Buy milk", "Backlog")).not_to_contain_text("Waits for approval")
        return
    assert task["approval_status"] == "pending_approval"
    expect(page.get_by_role("log")).to_contain_text("waits for approval", timeout=60_000)
    boss = case.open("inbox", who=f"{case.name}-sato")
    boss.get_by_role("article").filter(has_text="Buy milk").first.click()
    boss.get_by_role("button", name="Approve task").first.click()
    case.record("tasks", id=task["id"], approval_status="approved")
    case.go(page, "board")
    expect(card(page, "Buy milk", "Backlog")).not_to_contain_text("Waits for approval")
