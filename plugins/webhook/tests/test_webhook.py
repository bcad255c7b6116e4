"""The webhook against a real receiver: signed, with the change it tells of, until it is there."""

import hashlib
import hmac
import json
import sqlite3
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from aipm_devkit.program import Install

SECRET = "0123456789abcdef-secret"
PATIENCE = 60


@dataclass
class Received:
    """One request, as it came."""

    headers: dict[str, str]
    body: bytes

    @property
    def told(self) -> dict[str, Any]:
        """What it says."""
        told: dict[str, Any] = json.loads(self.body)
        return told


@dataclass
class Receiver:
    """A real server that answers as it is told."""

    answers: list[int] = field(default_factory=list)
    requests: Queue[Received] = field(default_factory=Queue)
    url: str = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            made.requests.put(Received({k.lower(): v for k, v in self.headers.items()}, body))
            status = made.answers.pop(0) if made.answers else 204
            self.send_response(status)
            if status == 302:
                self.send_header("location", f"{made.url}/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}/hook"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


@pytest.fixture
def install(tmp_path: Path, receiver: Receiver) -> Install:
    made = Install.make(tmp_path, f'[plugins.webhook]\nurl = "{receiver.url}"\n')
    made.environ["AIPM_PLUGINS__WEBHOOK__SECRET"] = SECRET
    made.run("project", "add", "p")
    made.run("agent", "add", "ann", "--project", "p")
    return made


def block(install: Install, title: str) -> str:
    """Have a running task that becomes blocked."""
    words = ("--assignee", "ann", "--status", "in_progress")
    task: str = install.json("task", "add", "--project", "p", "--title", title, *words)["id"]
    install.run("task", "status", task, "blocked")
    return task


def test_a_blocked_task_is_told_signed_and_once(install: Install, receiver: Receiver) -> None:
    with install.up():
        task = block(install, "Write the README")
        got = receiver.requests.get(timeout=PATIENCE)
    told = got.told
    assert (told["type"], told["project_id"]) == ("task_blocked", "p")
    assert told["data"]["task_id"] == task
    assert (told["data"]["title"], told["data"]["agent_id"]) == ("Write the README", "ann")
    signed = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode() + got.body
    expected = b64encode(hmac.digest(SECRET.encode(), signed, hashlib.sha256)).decode()
    assert got.headers["webhook-signature"] == f"v1,{expected}"
    with install.up():
        pass
    assert receiver.requests.empty()


def test_what_happened_while_no_server_ran_is_told_later(
    install: Install, receiver: Receiver
) -> None:
    block(install, "first")
    block(install, "second")
    with install.up():
        titles = [receiver.requests.get(timeout=PATIENCE).told["data"]["title"] for _ in range(2)]
    assert titles == ["first", "second"]


@pytest.mark.parametrize("answer", [500, 302, 404])
def test_what_is_not_taken_is_sent_again_with_the_same_id(
    install: Install, receiver: Receiver, answer: int
) -> None:
    receiver.answers.append(answer)
    with install.up() as server:
        block(install, "again")
        first = receiver.requests.get(timeout=PATIENCE)
        server.process.kill()
    with install.up() as server:
        second = receiver.requests.get(timeout=PATIENCE)
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert SECRET not in server.log


def test_nothing_is_written_or_sent_without_an_address(tmp_path: Path) -> None:
    install = Install.make(tmp_path)
    install.run("project", "add", "p")
    install.run("agent", "add", "ann", "--project", "p")
    with install.up():
        block(install, "quiet")
    with sqlite3.connect(tmp_path / ".aipm-data/aipm.db") as database:
        assert database.execute("select count(*) from webhook_outbox").fetchone() == (0,)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("url = 'http://example.org/x'", "must be an https address"),
        ("url = 'ftp://127.0.0.1/x'", "must be an https address"),
        ("url = 'https://me:pw@example.org/x'", "must not hold a name or a password"),
        ("url = 'https://example.org/x'", "secret must have 16 characters"),
        ("url = 'https://example.org/x'\nsecret = 'short'", "secret must have 16 characters"),
        ("url = 'https://example.org/x'\nsecret = 16", "secret: input should be a valid string"),
        ("kinds = ['everything']", "kinds"),
    ],
)
def test_unsafe_settings_are_refused_in_a_sentence(
    tmp_path: Path, table: str, sentence: str
) -> None:
    install = Install.make(tmp_path, f"[plugins.webhook]\n{table}\n")
    said = install.run("status", check=2).stderr
    assert sentence in said
    assert "pw@" not in said
    assert "short" not in said
    assert "not 16" not in said
