"""UC016, UC020 and the limit of turns: agents talk with each other."""

import pytest
from playwright.sync_api import expect

from tests.use_cases.world import Case, card

WORDS = ["しりとり", "りんご", "ごりら", "らっぱ", "ぱんだ"]
TALKS = """
until({first!r})
{begins}
talk = result("start_conversation", participant_agent_id={other!r}, purpose="shiritori",
              initial_message={words!r}[0], max_turns={turns})["conversation_id"]
for word in {words!r}[1:]:
    until("get_pending_messages")
    messages()
    result("send_conversation_message", conversation_id=talk, content=word)
step = until({last!r})
{ends}
result("logout")
"""
WRITTEN_TO = {"first": "get_pending_messages", "begins": "messages()"}
ENDS = 'messages()\nresult("end_conversation", conversation_id=talk)'
# Who says the last word learns the end from its reply, the other side from its next action.
ANSWERS = """
over = ""
while not over:
    step = result("get_next_action", timeout_seconds=20)
    over = step["action"] == "conversation_ended" and step["reason"]
    for message in messages():
        if "conversationId" in message:
            reply = call("respond_conversation_message", content=f"{message['content']}?",
                         conversation_id=message["conversationId"])
            over = over or reply.get("result", {}).get("warning")
tell(f"{ME}.over", over)
result("logout")
"""


@pytest.mark.parametrize(("case", "above"), [("", False), ("b", True)], indirect=["case"])
def test_uc016_agents_talk_with_each_other(case: Case, above: bool) -> None:
    """Two workers, or (016-B) a manager and its worker, make five round trips and an end."""
    one, two = f"{case.name}-one", f"{case.name}-two"
    how = {"other": two, "words": WORDS, "turns": 20, "last": "get_pending_messages"}
    talks = TALKS.format(**how, **WRITTEN_TO, ends=ENDS)
    case.agent(one, chat=talks, role="manager" if above else "worker")
    case.agent(two, chat=ANSWERS, parent_id=one if above else "anna")
    page = case.open(f"chat/{one}")
    page.get_by_label(f"Message to {one}").fill(f"Play with {two}")
    page.keyboard.press("Enter")
    talk = case.record("conversations", initiator_id=one, state="ended")
    assert (talk["participant_id"], talk["turns"]) == (two, 10)
    assert case.told(f"{two}.over")  # the other side heard of the end
    case.go(page, f"conversations/{talk['id']}")
    turns = page.get_by_role("region", name="shiritori")
    for word in WORDS:
        expect(turns).to_contain_text(f"{word}?")
    for name in (one, two):
        file = case.folder / ".ai-pm" / "agents" / name / "chat.jsonl"
        assert file.read_text(encoding="utf-8").count(talk["id"]) >= 10
        case.record("runs", agent_id=name, state="ended", end_reason="ok")


def test_uc020_a_task_makes_agents_talk(case: Case) -> None:
    """A task session delegates a game, its chat session plays it, and the task is done."""
    delegates = """
    begin()
    result("delegate_to_chat_session", target_agent_id="uc020-two", purpose="shiritori")
    found = result("get_task_conversations", wait_seconds=40)
    done(json.dumps(found, ensure_ascii=False)[:4000])
    """
    takes = '(one,) = result("get_pending_messages")["pending_delegations"]'
    reports = (
        f'{ENDS}\nresult("report_delegation_completed", '
        'delegation_id=one["delegation_id"], result="played")'
    )
    how = {"other": "uc020-two", "words": WORDS[:2], "turns": 20, "last": "get_pending_messages"}
    talks = TALKS.format(**how, first="process_delegation", begins=takes, ends=reports)
    case.agent("uc020-one", task=delegates, chat=talks)
    case.agent("uc020-two", chat=ANSWERS)
    task = case.task("Play shiritori", "uc020-one")
    page = case.open()
    expect(card(page, "Play shiritori", "Done")).to_be_visible(timeout=60_000)
    (talk,) = case.records("conversations")
    assert (talk["state"], talk["turns"]) == ("ended", 4)
    assert "りんご?" in case.record("tasks", id=task)["summary"]
    assert case.record("delegations", agent_id="uc020-one", status="completed")["task_id"] == task
    case.go(page, f"tasks/{task}")
    page.get_by_role("tab", name="Conversations").click()
    expect(page.get_by_text("shiritori").first).to_be_visible()


def test_maxturns_a_conversation_ends_at_its_limit(case: Case) -> None:
    """At the last turn a conversation ends by itself, and both sides are told."""
    how = {"other": "maxturns-two", "words": WORDS[:2], "turns": 4, "last": "conversation_ended"}
    ends = 'messages()\ntell(f"{ME}.over", step["reason"])'
    case.agent("maxturns-one", chat=TALKS.format(**how, **WRITTEN_TO, ends=ends))
    case.agent("maxturns-two", chat=ANSWERS)
    page = case.open("chat/maxturns-one")
    page.get_by_label("Message to maxturns-one").fill("Play")
    page.keyboard.press("Enter")
    talk = case.record("conversations", initiator_id="maxturns-one", state="ended")
    assert (talk["turns"], talk["max_turns"]) == (4, 4)
    assert "4" in case.told("maxturns-two.over")  # a warning with its last word
    assert case.told("maxturns-one.over") == "max_turns"
    case.go(page, f"conversations/{talk['id']}")
    expect(page.get_by_role("main")).to_contain_text("4/4")
