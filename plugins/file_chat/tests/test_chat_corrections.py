"""A person's message can be changed or taken back until somebody is given it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Server

from tests.shop import Refused, Shop


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop.make(tmp_path_factory.mktemp("corrections") / "place", locale="en")


@pytest.fixture(scope="module")
def server(shop: Shop) -> Iterator[Server]:
    with shop.install.up() as running:
        yield running


def lines(shop: Shop, agent: str) -> list[dict[str, Any]]:
    file: Path = shop.install.root / "work" / ".ai-pm" / "agents" / agent / "chat.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def said(shop: Shop, server: Server, text: str, agent: str = "worker-1") -> str:
    given = {"project_id": "shop", "agent_id": agent, "content": text}
    message: str = shop.person(server).call("say", **given)["message_id"]
    return message


def test_what_was_withdrawn_is_given_to_nobody(shop: Shop, server: Server) -> None:
    anna, reader = shop.person(server), shop.agent(server, "worker-1", "chat")
    gone, kept = said(shop, server, "delete it all"), said(shop, server, "good morning")
    anna.call("withdraw_message", project_id="shop", message_id=gone)
    given = reader.result("get_pending_messages")["pending_messages"]
    assert [message["id"] for message in given] == [kept]
    assert "error" in reader.call("respond_chat", content="yes", message_id=gone)
    shown = anna.get("/api/projects/shop/agents/worker-1/chat/messages")["messages"]
    first = next(message for message in shown if message["id"] == gone)
    assert (first["content"], first["readAt"], bool(first["withdrawnAt"])) == ("", None, True)
    assert "" not in [message["content"] for message in shown if message["id"] != gone]
    found = anna.call("search_messages", project_id="shop", agent_id="worker-1", text="delete it")
    assert found == {"messages": []}
    for agent in ("anna", "worker-1"):
        corrections = [line for line in lines(shop, agent) if line.get("corrects") == gone]
        assert [line["content"] for line in corrections] == [""]
        ids = [line["id"] for line in lines(shop, agent)]
        assert len(ids) == len(set(ids))
    with pytest.raises(Refused, match="message_withdrawn"):
        anna.call("withdraw_message", project_id="shop", message_id=gone)


def test_what_was_edited_is_given_in_its_new_words(shop: Shop, server: Server) -> None:
    anna, reader = shop.person(server), shop.agent(server, "worker-2", "chat")
    old = said(shop, server, "@@タスク作成: buy milk", "worker-2")
    edited = anna.call("edit_message", project_id="shop", message_id=old, content="never mind")
    assert edited["corrects"] == old
    given = reader.result("get_pending_messages")["pending_messages"]
    assert [message["content"] for message in given] == ["never mind"]
    refused = reader.call("request_task", title="buy milk")
    assert refused["error"]["code"] == "task_request_marker_required"
    assert [line for line in lines(shop, "worker-2") if line.get("corrects") == old] == [
        line for line in lines(shop, "worker-2") if line["id"] == edited["message_id"]
    ]


def test_too_late_is_said_and_changes_nothing(shop: Shop, server: Server) -> None:
    anna = shop.person(server)
    message = said(shop, server, "are you there?", "reviewer")
    shop.agent(server, "reviewer", "chat").result("get_pending_messages")
    before = lines(shop, "reviewer")
    for tool, more in (("withdraw_message", {}), ("edit_message", {"content": "no"})):
        with pytest.raises(Refused, match="message_already_seen"):
            anna.call(tool, project_id="shop", message_id=message, **more)
    new = said(shop, server, "short", "reviewer")
    with pytest.raises(Refused, match="content_too_long"):
        anna.call("edit_message", project_id="shop", message_id=new, content="x" * 4001)
    assert [line for line in lines(shop, "reviewer") if "corrects" in line] == []
    assert lines(shop, "reviewer")[: len(before)] == before
    with pytest.raises(Refused, match="message_not_found"):
        shop.person(server, "ken").call("withdraw_message", project_id="shop", message_id=new)


def test_the_command_line_corrects_and_the_files_stay_sound(shop: Shop, server: Server) -> None:
    message = said(shop, server, "typo")
    what = ("withdraw", message, "--project", "shop", "--as", "anna")
    made = shop.install.json(*what, "--instead", "text")
    assert (made["content"], made["corrects"]) == ("text", message)
    assert shop.install.run(*what, check=4).stderr.strip().endswith("withdrawn already.")
    assert "withdrawn" in shop.install.run("messages", "worker-1", "--project", "shop").stdout
    before = lines(shop, "worker-1")
    rebuilt = shop.install.json("doctor", "--rebuild-chat")
    assert not [row for row in rebuilt if row["status"] == "fail"]
    assert lines(shop, "worker-1") == before
