"""The state of a session: a person sees whether an agent is there, and whether the page is live."""

from playwright.sync_api import expect

from tests.use_cases.world import Case


def test_status_of_sessions_and_of_the_connection(case: Case) -> None:
    """Nobody there, one session, two; then the page loses its server, says so and comes back."""
    agent = case.agent("status-worker", program="")
    page = case.open(f"chat/{agent}")
    expect(page.get_by_text("Its chat session is not running")).to_be_visible()
    chat = case.session(agent, "chat")
    expect(page.get_by_text("Its chat session is not running")).to_have_count(0)
    case.session(agent, "task")
    case.go(page, "agents")
    expect(page.locator("[data-session]").filter(has_text=agent)).to_have_count(2)
    chat.result("logout")
    expect(page.locator("[data-session]").filter(has_text=agent)).to_have_count(1)
    assert [one["purpose"] for one in case.records("sessions")] == ["task"]
