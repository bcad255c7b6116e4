"""X6: markers in every form and from everybody; what counts is what was last read from another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import httpx
import pytest

from tests.agents import Agent
from tests.security.attacked_team import AttackedTeam, serving
from tests.security.corpora import MARKERS

MARKER = "@@タスク作成: x"
NEEDED, USED = "task_request_marker_required", "marker_already_used"
Say: TypeAlias = Callable[[str], None]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedTeam]:
    with serving(tmp_path_factory.mktemp("markers")) as made:
        yield made


@pytest.fixture(scope="module")
def ann(team: AttackedTeam) -> Agent:
    return team.session("ann", "chat")


@pytest.fixture(scope="module")
def bob(team: AttackedTeam) -> Agent:
    return team.session("bob", "chat")


@pytest.fixture(params=["an agent", "a person", "a broadcast"])
def say(request: pytest.FixtureRequest, team: AttackedTeam, bob: Agent) -> Say:
    """Say something to ann, one way or another."""

    def by_person(content: str) -> None:
        url = f"{team.server.url}/api/projects/p/agents/ann/chat/messages"
        headers = {"authorization": f"Bearer {team.tokens['mia']}"}
        sent = httpx.post(url, json={"content": content}, headers=headers)
        assert sent.status_code == 201, sent.text

    def by_agent(content: str) -> None:
        bob.result("send_message", target_agent_id="ann", content=content)

    def to_all(content: str) -> None:
        bob.result("broadcast_message", target_agent_ids=["ann", "boss"], content=content)

    ways: dict[str, Say] = {"an agent": by_agent, "a person": by_person, "a broadcast": to_all}
    return ways[request.param]


def read(agent: Agent) -> None:
    while agent.result("get_pending_messages", limit=100)["has_more"]:
        pass


def outcome(agent: Agent, title: str = "task", *, unread: bool = False) -> str:
    """Say what becomes of a request, by default of an agent that has read its messages."""
    if not unread:
        read(agent)
    reply = agent.call("request_task", title=title)
    return "ok" if "result" in reply else str(reply["error"]["code"])


@pytest.mark.parametrize("content", MARKERS, ids=lambda text: ascii(text)[:40])
def test_a_form_of_the_marker(ann: Agent, say: Say, content: str) -> None:
    say(content)
    assert outcome(ann) == ("ok" if MARKERS[content] else NEEDED)
    assert outcome(ann) == (USED if MARKERS[content] else NEEDED)


def test_a_later_message_takes_the_permission_away(ann: Agent, say: Say) -> None:
    say(MARKER)
    say("never mind")
    assert outcome(ann) == NEEDED


def test_a_message_that_is_not_read_gives_nothing_and_takes_nothing(ann: Agent, say: Say) -> None:
    say("before")
    read(ann)
    say(MARKER)
    assert outcome(ann, unread=True) == NEEDED
    read(ann)
    say("never mind")
    assert outcome(ann, unread=True) == "ok"
    assert outcome(ann) == NEEDED


def test_words_of_the_caller_never_count(ann: Agent, bob: Agent, say: Say) -> None:
    say("do something")
    assert outcome(ann, title=MARKER) == NEEDED
    ann.result("send_message", target_agent_id="bob", content=MARKER)
    ann.result("respond_chat", content=MARKER)
    assert outcome(ann) == NEEDED


def test_a_message_that_is_sent_again_gives_nothing_new(ann: Agent, bob: Agent) -> None:
    sent = {"target_agent_id": "ann", "content": MARKER, "idempotency_key": "once"}
    first = bob.result("send_message", **sent)
    assert outcome(ann) == "ok"
    assert bob.result("send_message", **sent)["message_id"] == first["message_id"]
    assert outcome(ann) == USED


def test_a_forwarded_marker_is_the_wish_of_who_forwards_it(
    team: AttackedTeam, ann: Agent, bob: Agent
) -> None:
    boss = team.session("boss", "chat")
    boss.result("send_message", target_agent_id="bob", content=MARKER)
    assert outcome(ann) in {NEEDED, USED}
    bob.result("send_message", target_agent_id="ann", content=f"boss says: {MARKER}")
    read(ann)
    made = ann.result("request_task", title="forwarded")
    assert made["approval_status"] == "pending_approval"  # bob does not stand above ann
    boss.result("send_message", target_agent_id="ann", content=MARKER)
    read(ann)
    assert ann.result("request_task", title="asked")["approval_status"] == "approved"


def test_one_marker_of_two_commands_opens_each_once(ann: Agent, bob: Agent) -> None:
    both = "@@タスク作成: x @@タスク通知: y"
    bob.result("send_message", target_agent_id="ann", content=both)
    assert outcome(ann) == "ok"
    assert "result" in ann.call("notify_task_session", message="y")
    again = ann.call("notify_task_session", message="y")
    assert again["error"]["code"] == USED
    assert outcome(ann) == USED
    assert ann.call("update_task_from_chat", task_id="t", title="z")["error"]["code"] == (
        "task_adjust_marker_required"
    )


def test_4001_characters_store_nothing_and_open_nothing(ann: Agent, bob: Agent) -> None:
    bob.result("send_message", target_agent_id="ann", content="before")
    long = MARKER.ljust(4_001, "x")
    refused = bob.call("send_message", target_agent_id="ann", content=long)
    assert refused["error"]["code"] == "content_too_long"
    assert outcome(ann) == NEEDED
