"""UC009, UC012 to UC015 and UC019: people and agents write to each other."""

from playwright.sync_api import Page, expect

from tests.use_cases.world import Case, card

CARRIES_OUT = """
until("process_delegation")
(one,) = result("get_pending_messages")["pending_delegations"]
say(one["target_agent_id"], one["purpose"])
result("report_delegation_completed", delegation_id=one["delegation_id"], result="told")
result("logout")
"""
ASKS_TO_TELL = """
begin()
refused = call("send_message", target_agent_id="{to}", content="directly")["error"]["code"]
result("delegate_to_chat_session", target_agent_id="{to}", purpose="{text}")
result("get_task_conversations", wait_seconds=40)
(told,) = result("get_notifications")["notifications"]
done(f"{{refused}} {{told['type']}}")
"""
STAYS = """
over = False
while not over:
    until("get_pending_messages")
    for message in messages():
        say(message["senderId"], f"{ME}: {message['content']}")
        over = over or message["content"] == "bye"
result("logout")
"""


def write(page: Page, agent: str, text: str) -> None:
    """Write to an agent on the page."""
    page.get_by_label(f"Message to {agent}").fill(text)
    page.keyboard.press("Enter")


def test_uc009_a_person_chats_with_an_agent(case: Case) -> None:
    """A person opens an agent's chat and writes; the agent is started and answers."""
    agent = case.agent("uc009-helper")
    page = case.open("chat")
    page.get_by_role("link").filter(has_text=agent).click()
    expect(page.get_by_text("Its chat session is not running")).to_be_visible()
    write(page, agent, "Who are you?")
    expect(page.get_by_role("log")).to_contain_text(f"{agent}: Who are you?", timeout=60_000)
    assert case.said("anna") == [("anna", "Who are you?"), (agent, f"{agent}: Who are you?")]
    run = case.record("runs", agent_id=agent, purpose="chat", state="ended")
    assert run["end_reason"] == "ok"


def test_uc012_a_task_session_tells_a_person(case: Case) -> None:
    """A task session may not talk itself: its chat session does, and the person sees it."""
    text = "Which colour shall it have?"
    asks = ASKS_TO_TELL.format(to="anna", text=text)
    agent = case.agent("uc012-worker", task=asks, chat=CARRIES_OUT)
    task = case.task("Paint it", agent)
    page = case.open("board")
    expect(card(page, "Paint it", "Done")).to_be_visible(timeout=60_000)
    assert case.record("tasks", id=task)["summary"] == "chat_session_required delegation_completed"
    assert case.record("inbox", kind="message", agent_id=agent)
    case.go(page, "chat")
    row = page.get_by_role("link").filter(has_text=agent)
    expect(row.get_by_label("1 unread")).to_be_visible()
    row.click()
    expect(page.get_by_role("log")).to_contain_text(text)
    for member in ("anna", agent):
        assert (agent, text) in case.said(member)


def test_uc013_workers_pass_a_message_on(case: Case) -> None:
    """One agent's task reports to a second agent, which is started and reports to the person."""
    passes_on = """
    until("get_pending_messages")
    for message in messages():
        say("anna", f"{message['senderId']} says: {message['content']}")
    result("logout")
    """
    second = case.agent("uc013-b", chat=passes_on)
    asks = ASKS_TO_TELL.format(to=second, text="the build is green")
    case.agent("uc013-a", task=asks, chat=CARRIES_OUT)
    case.task("Build it", "uc013-a")
    page = case.open(f"chat/{second}")
    words = "uc013-a says: the build is green"
    expect(page.get_by_role("log")).to_contain_text(words, timeout=60_000)
    assert (second, words) in case.said("anna")


def test_uc014_an_open_chat_answers_at_once(case: Case) -> None:
    """A chat session that waits answers one message after the other, without a new start."""
    agent = case.agent("uc014-helper", chat=STAYS)
    page = case.open(f"chat/{agent}")
    for text in ("one", "two", "three"):
        write(page, agent, text)
        expect(page.get_by_role("log")).to_contain_text(f"{agent}: {text}", timeout=60_000)
        expect(page.get_by_text("Its chat session is not running")).to_have_count(0)
    write(page, agent, "bye")
    case.record("runs", agent_id=agent, state="ended")
    assert len(case.records("runs")) == 1
    answers = [text for sender, text in case.said("anna") if sender == agent]
    assert answers == [f"{agent}: {text}" for text in ("one", "two", "three", "bye")]


def test_uc015_a_person_ends_a_chat_session(case: Case) -> None:
    """A session that a person ends is over; what was said stays, and a new one comes when told."""
    agent = case.agent("uc015-helper", chat=STAYS)
    page = case.open(f"chat/{agent}")
    write(page, agent, "hello")
    expect(page.get_by_role("log")).to_contain_text(f"{agent}: hello", timeout=60_000)
    case.go(page, "agents")
    page.get_by_role("button", name=f"More actions: {agent}").click()
    page.get_by_role("menuitem", name="Stop…").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop").click()
    first = case.record("runs", agent_id=agent, state="ended")
    assert first["stop_by"] == "anna"
    case.go(page, f"chat/{agent}")
    expect(page.get_by_text("Its chat session is not running")).to_be_visible()
    expect(page.get_by_role("log")).to_contain_text(f"{agent}: hello")
    write(page, agent, "bye")
    item = case.record("inbox", kind="run", agent_id=agent)  # who stopped it says when it goes on
    case.go(page, f"inbox/{item['id']}")
    page.get_by_role("article").get_by_role("button", name="Try again").first.click()
    case.go(page, f"chat/{agent}")
    expect(page.get_by_role("log")).to_contain_text(f"{agent}: bye", timeout=60_000)


def test_uc019_an_agent_chats_while_it_works(case: Case) -> None:
    """A task goes on while the same agent's chat answers; both sessions are seen."""
    works = """
    begin()
    wait_for("uc019.go")
    done()
    """
    agent = case.agent("uc019-worker", task=works, chat=STAYS)
    task = case.task("A long one", agent)
    case.record("tasks", id=task, status="in_progress")
    page = case.open(f"chat/{agent}")
    write(page, agent, "How is it going?")
    expect(page.get_by_role("log")).to_contain_text(f"{agent}: How is it", timeout=60_000)
    assert case.record("tasks", id=task)["status"] == "in_progress"
    purposes = [one["purpose"] for one in case.records("sessions")]
    assert sorted(purposes) == ["chat", "task"]
    case.go(page, "agents")
    expect(page.locator("[data-session]").filter(has_text=agent)).to_have_count(2)
    case.tell("uc019.go")
    case.record("tasks", id=task, status="done")
    case.go(page, f"chat/{agent}")
    write(page, agent, "bye")
    expect(page.get_by_role("log")).to_contain_text(f"{agent}: bye", timeout=60_000)
