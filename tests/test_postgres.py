"""Several servers on one PostgreSQL database, and what happens when it goes away."""

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Install

from tests.agents import Agent, log_in, team
from tests.postgres import Postgres, database, server


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with server() as running:
        yield running


@pytest.fixture
def installs(postgres: Postgres, tmp_path: Path) -> tuple[Install, Install]:
    """Two machines, as far as one machine can be two: nothing in common but the database."""
    address = asyncio.run(database(postgres.address, tmp_path))
    made = tuple(Install.make(tmp_path / name) for name in ("here", "there"))
    for install in made:
        install.environ["AIPM_STORE__URL"] = address
    return made[0], made[1]


def lines(root: Path, agent: str) -> list[Any]:
    text = (root / "work" / ".ai-pm" / "agents" / agent / "chat.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_two_servers_share_everything_and_wake_each_other(
    installs: tuple[Install, Install],
) -> None:
    here, there = installs
    keys = team(here, "ann", "bob")
    with here.up() as one, there.up() as other:
        ann, bob = (
            log_in(one.mcp, "ann", keys["ann"], "task"),
            log_in(other.mcp, "bob", keys["bob"]),
        )
        assert Agent(other.mcp, ann.token).result("get_my_task") == {"task": None}
        waiting: list[Any] = []
        poll = threading.Thread(
            target=lambda: waiting.append(ann.call("get_next_action", timeout_seconds=50))
        )
        poll.start()
        there.run(
            *("notify", "ann", "--project", "p", "--type", "interrupt"),
            *("--action", "pause", "--message", "stop", "--audience", "task"),
        )
        poll.join()
        assert "get_notifications()" in waiting[0]["replaced"]
        sent = [bob.result("send_message", target_agent_id="ann", content=f"{n}") for n in range(9)]
        chat = log_in(one.mcp, "ann", keys["ann"])
        sent += [
            chat.result("send_message", target_agent_id="bob", content=f"{n}") for n in range(9)
        ]
        read = chat.result("get_pending_messages")["pending_messages"]
        assert [message["content"] for message in read] == [f"{n}" for n in range(9)]
    ids = [line["id"] for line in lines(here.root, "ann")]
    assert ids == [line["id"] for line in lines(here.root, "bob")]
    assert ids == [one["message_id"] for one in sent]


def test_a_killed_server_loses_nothing(installs: tuple[Install, Install]) -> None:
    here, there = installs
    keys = team(here, "ann", "bob")
    with here.up() as one:
        ann = log_in(one.mcp, "ann", keys["ann"])
        sent = [
            ann.result("send_message", target_agent_id="bob", content=f"{n}")["message_id"]
            for n in range(20)
        ]
        one.process.kill()
    with there.up() as other:
        bob = log_in(other.mcp, "bob", keys["bob"])
        read = bob.result("get_pending_messages")["pending_messages"]
        assert [message["id"] for message in read] == sent
        assert Agent(other.mcp, ann.token).result("get_pending_messages")["pending_messages"] == []
    assert [line["id"] for line in lines(here.root, "bob")] == sent


def test_a_server_outlives_its_database(
    postgres: Postgres, installs: tuple[Install, Install]
) -> None:
    here, _ = installs
    keys = team(here, "ann", "bob")
    with here.up() as one:
        ann = log_in(one.mcp, "ann", keys["ann"])
        before = ann.result("send_message", target_agent_id="bob", content="before")
        postgres.stop()
        refused = ann.call("send_message", target_agent_id="bob", content="meanwhile")
        assert refused["error"]["code"] == "store_unavailable"
        postgres.start()
        after = ann.result("send_message", target_agent_id="bob", content="after")
    assert [line["id"] for line in lines(here.root, "bob")] == [
        before["message_id"],
        after["message_id"],
    ]


def test_a_database_that_is_not_there_is_one_sentence_without_its_password(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    secret = "hunter2-hunter2"
    install.environ["AIPM_STORE__URL"] = f"postgresql://me:{secret}@127.0.0.1:1/aipm"
    told = install.run("project", "list", check=2).stderr
    assert told.startswith("aipm: the database 127.0.0.1:1/aipm cannot be used")
    assert told.count("\n") == 1
    assert secret not in told
    install.environ["AIPM_STORE__URL"] = f"mysql://me:{secret}@127.0.0.1/aipm"
    told = install.run("project", "list", check=2).stderr
    assert "names no engine" in told
    assert secret not in told


def test_without_the_driver_the_command_to_install_it_is_told(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    hidden = tmp_path / "hidden" / "asyncpg"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ModuleNotFoundError('asyncpg')\n")
    install.environ["PYTHONPATH"] = str(hidden.parent)
    install.environ["AIPM_STORE__URL"] = "postgresql://127.0.0.1/aipm"
    assert "pip install 'aipm-runtime[postgres]'" in install.run("doctor", check=2).stderr


def test_what_the_database_does_itself_is_left_to_it(installs: tuple[Install, Install]) -> None:
    here, _ = installs
    assert "pg_dump" in here.run("backup", "copy.db", check=2).stderr
    assert not (here.root / "copy.db").exists()
    found = {one["name"]: one for one in here.json("doctor")}
    assert found["store"]["message"].startswith("PostgreSQL ")
