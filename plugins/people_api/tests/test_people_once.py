"""The same key twice has one effect and one answer, whatever the way in and whatever dies."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
import pytest
from tests.people import House, Person, house
from websockets.sync.client import connect


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("once")) as made:
        yield made


def tasks(home: House, title: str) -> int:
    database = home.install.root / ".aipm-data/aipm.db"
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        sql = "select count(*) from tasks where title = ?"
        return int(connection.execute(sql, (title,)).fetchone()[0])


def test_the_same_key_has_one_effect_and_one_answer(home: House) -> None:
    with home.person("mia") as mia:
        about = {"project_id": "shop", "title": "once"}
        first = mia.call("create_task", "k1", **about)
        assert mia.call("create_task", "k1", **about) == first
        other = mia.refused("create_task", "k1", **{**about, "title": "else"})
        assert other == (409, "idempotency_conflict")
        assert mia.refused("move_task", "k1", project_id="shop", task_id="x", status="todo") == (
            409,
            "idempotency_conflict",
        )
        assert tasks(home, "once") == 1
        assert tasks(home, "else") == 0


def test_keys_belong_to_their_person(home: House) -> None:
    with home.person("mia") as mia, home.person("max") as other:
        about = {"project_id": "shop", "title": "theirs"}
        assert mia.call("create_task", "k2", **about) != other.call("create_task", "k2", **about)
        assert tasks(home, "theirs") == 2


def test_many_at_once_have_one_effect(home: House) -> None:
    with home.person("mia") as mia, ThreadPoolExecutor(20) as threads:
        about = {"project_id": "shop", "title": "many"}
        made = list(threads.map(lambda _: mia.call("create_task", "k3", **about), range(40)))
        assert made == [made[0]] * 40
        assert tasks(home, "many") == 1


def test_a_refused_call_leaves_its_key_free(home: House) -> None:
    with home.person("mia") as mia:
        refused = mia.refused("create_task", "k4", project_id="shop", title=" ")
        assert refused == (400, "invalid_arguments")
        mia.call("create_task", "k4", project_id="shop", title="free")


def test_a_secret_is_not_kept_for_a_repetition(home: House) -> None:
    with home.person("mia") as mia:
        about = {"project_id": "shop", "agent_id": "newcomer"}
        passkey = mia.call("add_agent", "k5", **about)["passkey"]
        assert mia.refused("add_agent", "k5", **about) == (409, "result_not_kept")
        files = home.install.root.glob(".aipm-data/*")
        assert not any(passkey.encode() in file.read_bytes() for file in files if file.is_file())


@pytest.mark.parametrize("key", [b"", b"x" * 201, b"a\tb", b"\xe9"])
def test_a_key_that_is_none_is_refused(home: House, key: bytes) -> None:
    with home.person("mia") as mia:
        headers = [(b"idempotency-key", key)]
        body = {"project_id": "shop", "title": "never"}
        reply = mia.http.post("/tools/create_task", json=body, headers=headers)
        assert reply.status_code == 400
        assert "Idempotency-Key" in reply.json()["error"]["message"]
        assert tasks(home, "never") == 0


def test_commands_and_calls_share_their_keys(home: House) -> None:
    token = home.token("mia")
    payload = {"project_id": "shop", "title": "every way"}
    order = {"id": "k6", "type": "create_task", "payload": payload}
    headers = {"authorization": f"Bearer {token}"}
    posted = httpx.post(f"{home.server.url}/commands", json=order, headers=headers).json()
    assert posted["type"] == "ack"
    with connect(home.server.ready["ws"], additional_headers=headers, proxy=None) as wire:
        wire.recv(timeout=30)
        wire.send(json.dumps(order))
        assert json.loads(wire.recv(timeout=30)) == posted
    with home.http(token) as http:
        mia = Person(http)
        assert mia.call("create_task", "k6", **payload)["task"] == posted["task"]
        opened = {"projectId": "shop", "agentId": "bot"}
        session = mia.call("openSession", "k7", **opened)["sessionId"]
        assert mia.call("openSession", "k7", **opened)["sessionId"] == session
    assert tasks(home, "every way") == 1


def test_an_answer_outlives_the_program(tmp_path: Path) -> None:
    about: dict[str, Any] = {"project_id": "shop", "title": "lasting"}
    with house(tmp_path) as home:
        token = home.token("mia")
        with home.http(token) as http:
            first = Person(http).call("create_task", "k8", **about)
        home.server.process.send_signal(SIGKILL)
        home.server.process.wait()
        with home.install.up() as server:
            again = House(home.install, server, home.passkeys)
            with again.http(token) as http:
                assert Person(http).call("create_task", "k8", **about) == first
            assert tasks(home, "lasting") == 1
