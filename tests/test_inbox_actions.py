"""Every action of every item in an inbox does what it says when it is sent as it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Server

from tests import shop_runs
from tests.shop import Person, Refused, Shop

FIELDS = {
    *("id", "kind", "since", "deadline", "agent_id", "task_id", "title", "detail", "level"),
    "actions",
}
NUMBERS = count()
Cause = Callable[[], None]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return shop_runs.make(tmp_path_factory.mktemp("shop") / "place", "en")


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        yield running


def ask(shop: Shop, server: Server) -> None:
    shop.ask(server, f"number {next(NUMBERS)}")  # who allowed one for good is asked again


def request(shop: Shop, server: Server) -> None:
    shop.agent(server, "worker-2", "task").result("request_task", title="An index")


def write(shop: Shop, server: Server) -> None:
    for person in ("anna", "ken"):
        chat = shop.agent(server, "worker-1", "chat")
        chat.result("send_message", target_agent_id=person, content="Now or later?")


def block(shop: Shop, server: Server) -> None:
    anna = shop.person(server)
    made = anna.call(
        "create_task", project_id="shop", title="Key", assignee_id="worker-1", status="todo"
    )["task"]["id"]
    for status, reason in (("in_progress", None), ("blocked", "anna or ken: which key?")):
        more = {"reason": reason} if reason else {}
        anna.call("move_task", project_id="shop", task_id=made, status=status, **more)


def fail(shop: Shop, server: Server) -> None:
    """Somebody new each time: who failed too often is not started again by itself."""
    anna, name = shop.person(server), f"tester-{next(NUMBERS)}"
    member = {"agent_id": name, "parent_id": "anna", "program": "codex-old"}
    anna.call("add_agent", project_id="shop", **member)
    anna.call("create_task", project_id="shop", title="Test", assignee_id=name, status="todo")


CAUSES: dict[str, tuple[Callable[[Shop, Server], None], tuple[str, ...]]] = {
    "confirmation": (ask, ("approve", "approve_session", "approve_always", "deny")),
    "task_request": (request, ("approve", "reject")),
    "message": (write, ("read",)),
    "blocked": (block, ("to_do", "resume", "cancel")),
    "run": (fail, ("leave", "start")),
}


def gone(person: Person, item_id: str) -> bool:
    return item_id not in person.get("/api/projects/shop/state")["views"]["inbox"]


def sent(person: Person, cause: Cause, kind: str, name: str) -> dict[str, Any]:
    """Let an item appear, send one of its actions as it stands, and return the item."""
    cause()
    item = person.wait_for_item(kind)
    assert set(item) >= FIELDS
    assert all(set(action) == {"name", "tool", "arguments"} for action in item["actions"])
    (action,) = [each for each in item["actions"] if each["name"] == name]
    person.call(action["tool"], **action["arguments"])
    return item


@pytest.mark.parametrize("kind", CAUSES)
def test_every_action_can_be_sent_as_it_stands(shop: Shop, server: Server, kind: str) -> None:
    """A manager and an ordinary member: nobody is offered what they may not do."""
    cause, names = CAUSES[kind]
    for who in ("anna", "ken"):
        person = shop.person(server, who)
        for name in names:
            item = sent(person, partial(cause, shop, server), kind, name)
            assert {each["name"] for each in item["actions"]} == set(names)
            assert gone(person, item["id"]) or kind == "run", (who, name)


def test_a_question_is_answered_in_its_own_project_only(
    shop: Shop, server: Server, tmp_path: Path
) -> None:
    anna = shop.person(server)
    anna.call("create_project", id="depot", name="Depot", directory=str(tmp_path))
    ask(shop, server)
    item = anna.wait_for_item("confirmation")
    (no,) = [each for each in item["actions"] if each["name"] == "deny"]
    for foreign in ("depot", "nowhere"):
        with pytest.raises(Refused, match="_not_found"):
            anna.call(no["tool"], **no["arguments"] | {"project_id": foreign})
    anna.call(no["tool"], **no["arguments"])
    assert gone(anna, item["id"])
