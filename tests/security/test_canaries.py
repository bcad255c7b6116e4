"""Secrets through every input, and a look at every output: none of them is anywhere."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from tests.collector import Collector, collecting
from tests.security.attacked_team import AttackedTeam, serving
from tests.security.forks import forks
from tests.security.leaks import SecretSpeaker

AIPM = Path(sys.executable).with_name("aipm")
SETTINGS = """
[log]
level = "debug"
format = "{form}"
[telemetry]
enabled = true
[plugins.policy]
confirmation_seconds = 0.2
[[plugins.policy.rules]]
tool = "list_tasks"
decision = "REQUIRE_USER_CONFIRMATION"
[plugins.agent_loop]
provider = "pydantic_ai"
model = "openai:canary"
base_url = "{model}"
api_key_env = "CANARY"
"""
WORDS = f"words-{secrets.token_hex(16)}"
KEY = f"sk-canary-{secrets.token_hex(16)}"


class _Angry(BaseHTTPRequestHandler):
    """A model's API that repeats the key it refuses, as real ones do."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        said = f"Incorrect API key provided: {self.headers['authorization']}"
        body = json.dumps({"error": {"message": said, "code": "invalid_api_key"}}).encode()
        self.send_response(401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


@contextmanager
def model_api() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Angry) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()


class Told:
    """Everything the program gave out while it was told secrets."""

    def __init__(self, collector: Collector) -> None:
        self.replies: list[str] = []
        self.files: dict[str, bytes] = {}
        self.secrets: list[str] = []
        self.written: list[str] = []
        self._collector = collector
        self.log = ""

    def places(self) -> Iterator[tuple[str, bytes]]:
        yield from ((f"reply {n}", text.encode()) for n, text in enumerate(self.replies))
        yield from self.files.items()
        yield "log", self.log.encode()
        yield "traces", b"".join(self._collector.bodies)


@pytest.fixture(scope="module", params=["text", "json"])
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Told]:
    root = tmp_path_factory.mktemp("canaries")
    with collecting() as collector, model_api() as model, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        patch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        patch.setenv("CANARY", KEY)
        made = Told(collector)
        with serving(root, SETTINGS.format(form=request.param, model=model), faulty=True) as team:
            _tell_everything(team, made, short=request.param == "json")
        made.log = team.server.log
        for file in root.rglob("*"):
            if file.is_file():
                made.files[str(file.relative_to(root))] = file.read_bytes()
        yield made


def _tell_everything(team: AttackedTeam, told: Told, *, short: bool) -> None:
    ann = team.session("ann", "chat")
    real = [team.passkeys["ann"], ann.token or "", team.tokens["mia"]]
    # What somebody writes to somebody else is kept as it is, be it a passkey: qed's.
    told.written = [WORDS, team.passkeys["qed"]]
    told.secrets = [*real, *team.passkeys.values(), *team.tokens.values(), KEY]
    told.secrets.remove(team.passkeys["qed"])
    mouth = SecretSpeaker(team, ann.token or "")
    for secret in real[:1] if short else real:
        mouth.say(secret)
    ann.call("list_tasks")  # asks a person, with the token among its arguments
    said = {"target_agent_id": "ann", "content": f"{WORDS} {team.passkeys['qed']}"}
    team.session("bob", "chat").result("send_message", **said)
    team.session("bob", "task").result("create_task", title=WORDS, description=WORDS)
    told.replies += mouth.heard
    told.replies += list(_model_fails(team))
    if not short:
        told.replies += list(_shown(team, real))
    headers = {"authorization": f"Bearer {team.tokens['mia']}"}
    told.replies.append(httpx.get(f"{team.server.url}/metrics", headers=headers).text)
    team.install.run("backup", "copy.db")


def _model_fails(team: AttackedTeam) -> Iterator[str]:
    """Talk to an agent whose model's API throws the key back."""
    headers = {"authorization": f"Bearer {team.tokens['mia']}"}
    with httpx.Client(base_url=team.server.url, headers=headers, timeout=60) as client:

        def give(kind: str, **payload: str) -> dict[str, str]:
            order = {"id": secrets.token_hex(8), "type": kind, "payload": payload}
            return dict(client.post("/commands", json=order).json())

        session = give("openSession", projectId="p", agentId="bob")["sessionId"]
        with client.stream("GET", f"/events?session={session}&lastSeq=0") as events:
            give("submitUserInput", sessionId=session, text="hello")
            failed = False
            for line in events.iter_lines():
                yield line
                failed = failed or '"onError"' in line
                if failed and '"waiting_for_input"' in line:
                    return


def _shown(team: AttackedTeam, real: list[str]) -> Iterator[str]:
    """Say secrets on the command line and on stdin."""
    with forks(team.install.root, team.install.env()) as aipm:
        for secret in real[:1]:
            for words in (
                (secret,),
                ("task", "show", secret),
                ("task", "status", secret, "todo"),
                ("agent", "add", secret, "--project", "p"),
                ("agent", "rekey", secret),
                ("notify", secret, "--project", "p", "--type", "message", "--message", "x"),
                ("messages", secret, "--project", "p"),
                ("approve", secret),
                ("token", "revoke", secret),
                ("project", "list", "--config", secret),
                ("project", "list", f"--{secret}"),
                ("up", "--host", secret),
            ):
                done = aipm.run(*words)
                yield done.out + done.err
        for words in (("agent", "list"), ("token", "list"), ("status",), ("audit", "list")):
            yield aipm.run(*words, "--json").out
    lines = f'{{"{real[1]}": 1, "{real[1]}": 2}}\n{real[0]}\n'.encode()
    called = {"name": real[0], "arguments": {real[1]: 1}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}
    env = {**team.install.env(), "AIPM_SESSION_TOKEN": real[1]}
    odd = {"jsonrpc": "2.0", "id": 2, "method": real[2]}
    ended = subprocess.run(
        [AIPM, "mcp"],
        input=lines + b"".join(json.dumps(one).encode() + b"\n" for one in (message, odd)),
        cwd=team.install.root,
        env=env,
        capture_output=True,
        timeout=60,
    )
    yield (ended.stdout + ended.stderr).decode()


def test_no_secret_is_anywhere(told: Told) -> None:
    found = [
        f"{secret[:12]}… in {place}: {_around(data, secret)}"
        for place, data in told.places()
        for secret in dict.fromkeys(told.secrets)
        if secret.encode() in data
    ]
    assert found == []


def test_what_people_write_is_in_the_store_and_the_chat_files_only(told: Told) -> None:
    for words in told.written:
        places = [place for place, data in told.places() if words.encode() in data]
        assert places
        assert [place for place in places if place.startswith(("log", "traces", "reply"))] == []


def _around(data: bytes, secret: str) -> str:
    at = data.index(secret.encode())
    return repr(data[max(0, at - 80) : at + 20])


def test_everything_was_looked_at(told: Told) -> None:
    """A scan of nothing finds nothing."""
    places = dict(told.places())
    assert len(told.replies) > 100
    assert {".aipm-data/aipm.db", "copy.db", "p/.ai-pm/agents/ann/chat.jsonl"} <= places.keys()
    assert b"tools/call" in places["traces"]
    assert len(places["log"]) > 1_000
    assert b"provider_error" in b"".join(
        data for place, data in places.items() if place.startswith("reply")
    )
