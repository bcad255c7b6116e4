"""UC008, UC010 and UC011: people stop agents at work, and let them go on."""

from playwright.sync_api import expect

from tests.use_cases.world import Case, card, move

WORKS_UNTIL_STOPPED = """
begin()
while "replaced" not in call("list_tasks"):
    time.sleep(0.05)
(told,) = result("get_notifications")["notifications"]
tell(f"{ME}.told", json.dumps([told["type"], told["action"], told.get("reason")]))
result("report_completed", result="blocked", summary="stopped")
"""


def test_uc008_blocking_a_task_stops_all_below_it(case: Case) -> None:
    """What runs below is stopped, what has not begun is held and freed with the block's end."""
    at_work = case.agent("uc008-a", task=WORKS_UNTIL_STOPPED)
    later = case.agent("uc008-b")
    parent = case.task("Release", status="todo")
    case.anna.call("move_task", project_id=case.name, task_id=parent, status="in_progress")
    running = case.task("Build", at_work, parent_task_id=parent)
    case.record("runs", agent_id=at_work, state="running")
    case.record("tasks", id=running, status="in_progress")
    backlog = case.task("Announce", later, parent_task_id=parent, status="backlog")
    page = case.open()
    move(page, "Release", "Blocked")
    expect(card(page, "Build", "Blocked")).to_be_visible()
    expect(card(page, "Announce", "Backlog")).to_contain_text("Held by Release")
    ended = case.record("runs", agent_id=at_work, state="ended")
    assert case.told(f"{at_work}.told").startswith('["interrupt", "blocked"')
    assert case.record("tasks", id=backlog)["held_by"] == parent
    move(page, "Announce", "To do")
    expect(card(page, "Announce", "To do")).to_contain_text("Held by Release")
    card(page, "Announce").get_by_role("link").first.click()
    drawer = page.get_by_role("complementary", name="Announce")
    expect(drawer.get_by_role("link", name="Release").last).to_be_visible()
    assert [one["id"] for one in case.records("runs")] == [ended["id"]]  # nobody was started
    case.go(page, "board")
    move(page, "Release", "In progress")
    expect(card(page, "Announce", "Done")).to_be_visible(timeout=60_000)
    assert case.record("tasks", id=running)["status"] == "blocked"  # somebody decides about that
    assert case.record("tasks", id=backlog)["held_by"] is None


def test_uc010_a_person_blocks_a_task_at_work(case: Case) -> None:
    """The agent's next call is replaced, it reads why and stops; the page shows each stage."""
    worker = case.agent("uc010-worker", task=WORKS_UNTIL_STOPPED)
    task = case.task("Rewrite everything", worker)
    case.record("tasks", id=task, status="in_progress")
    page = case.open()
    expect(card(page, "Rewrite everything", "In progress")).to_contain_text(worker)
    move(page, "Rewrite everything", "Blocked")
    expect(card(page, "Rewrite everything", "Blocked")).to_be_visible()
    case.record("runs", agent_id=worker, state="ended", end_reason="ok")
    assert case.told(f"{worker}.told") == '["interrupt", "blocked", null]'
    found = case.record("tasks", id=task)
    assert (found["status"], found["blocked_by"], found["result"]) == ("blocked", "anna", "blocked")
    assert case.record("notifications", task_id=task, type="interrupt")["read_at"] is not None
    case.go(page, f"tasks/{task}")
    expect(page.get_by_text("stopped", exact=True).first).to_be_visible()


def test_uc010b_an_agent_that_does_not_come_is_told_of(case: Case) -> None:
    """A message to an agent whose program fails is not lost, and a person learns why."""
    case.agent("uc010-broken", program="broken")
    page = case.open("chat/uc010-broken")
    page.get_by_label("Message to uc010-broken").fill("Are you there?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("log")).to_contain_text("Are you there?")
    item = case.record("inbox", kind="run", agent_id="uc010-broken")
    case.go(page, f"inbox/{item['id']}")
    shown = page.get_by_role("article").filter(has_text="uc010-broken").first
    shown.get_by_role("link", name="Open the log").click()
    expect(page.get_by_role("log", name="Log")).to_contain_text("no key for the model")
    assert ("anna", "Are you there?") in case.said("uc010-broken")


def test_uc011_a_person_pauses_the_project(case: Case) -> None:
    """While a project is paused its agents wait and nobody is started; then all goes on."""
    worker = case.agent(
        "uc011-worker",
        task="""
        begin()
        while (told := call("list_tasks").get("error", {})).get("code") != "project_paused":
            time.sleep(0.05)
        tell("uc011.paused", told["message"])
        until("work")
        done("after the pause")
        """,
    )
    task = case.task("A long one", worker)
    case.record("tasks", id=task, status="in_progress")
    page = case.open("agents")
    page.get_by_role("button", name="Pause project").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause project").click()
    expect(page.get_by_role("status").filter(has_text="paused")).to_be_visible()
    assert case.told("uc011.paused")
    second = case.agent("uc011-second")
    case.task("Not now", second)
    assert case.record("tasks", id=task)["status"] == "in_progress"
    assert {run["agent_id"] for run in case.records("runs")} == {worker}
    page.get_by_role("button", name="Resume project").click()
    case.go(page, "board")
    for title in ("A long one", "Not now"):
        expect(card(page, title, "Done")).to_be_visible(timeout=60_000)
    assert case.record("tasks", id=task)["summary"] == "after the pause"
    assert len([run for run in case.records("runs") if run["agent_id"] == worker]) == 1
