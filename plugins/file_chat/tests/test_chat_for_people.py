"""What people do with chat: over HTTP with a token, and at the command line."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest
from aipm_cli.program import open_runtime
from aipm_cli.settings import Settings
from aipm_devkit.program import Install, Server
from aipm_file_chat.testing import file_in, lines_of
from aipm_sessions.plugin import ADMINISTRATION

from aipm_core.models import Kind


@dataclass
class House:
    """A running server with two projects, and tokens of two people."""

    install: Install
    server: Server
    alice: str
    mallory: str

    def http(self, token: str | None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx.Client(base_url=f"{self.server.url}/api/projects", headers=headers)


async def furnish(data_dir: Path) -> list[str]:
    """Make two projects and their members; return the tokens of the people."""
    async with open_runtime(Settings(data_dir=data_dir)) as runtime:
        administration = runtime.services.use(ADMINISTRATION)
        members: list[tuple[str, str, Kind]] = [
            ("worker", "p", "ai"),
            ("stranger", "q", "ai"),
            ("alice", "p", "human"),
            ("mallory", "q", "human"),
        ]
        for project in ("p", "q"):
            await administration.add_project(project, project, data_dir.parent / f"work-{project}")
        for name, project, kind in members:
            await administration.add_agent(
                name, project_id=project, name=name, kind=kind, role="worker", parent=None
            )
        return [(await administration.add_token(who))["token"] for who in ("alice", "mallory")]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    install = Install.make(tmp_path_factory.mktemp("house"))
    alice, mallory = anyio.run(furnish, install.root / ".aipm-data")
    with install.up() as server:
        yield House(install, server, alice, mallory)


CHAT = "/p/agents/worker/chat/messages"


def test_a_person_writes_and_reads(house: House) -> None:
    with house.http(house.alice) as http:
        task = house.install.json("task", "add", "--project", "p", "--title", "work")["id"]
        for unknown, status in (("any text", 400), ("tsk_1", 404)):
            refused = http.post(CHAT, json={"content": "?", "relatedTaskId": unknown})
            assert refused.status_code == status
        sent = http.post(CHAT, json={"content": "こんにちは", "relatedTaskId": task})
        assert sent.status_code == 201
        message = sent.json()["message"]
        assert message["relatedTaskId"] == task
        assert message["senderId"] == "alice"
        assert message["senderKind"] == "human"
        assert message["readAt"] is None
        ids = [sent.json()["message_id"]]
        ids += [http.post(CHAT, json={"content": f"{n}"}).json()["message_id"] for n in range(4)]
        assert [
            line["id"] for line in lines_of(file_in(house.install.root / "work-p", "worker"))
        ] == ids
        seen, after, more = list[str](), 0, True
        while more:
            page = http.get(CHAT, params={"after": after, "limit": 2}).json()
            seen += [item["id"] for item in page["messages"]]
            after, more = page["next"], page["has_more"]
        assert seen == ids
        nothing = http.get(CHAT, params={"after": after}).json()
        assert nothing == {"messages": [], "next": after, "has_more": False}
        key = {"Idempotency-Key": "k"}
        twice = [http.post(CHAT, json={"content": "once"}, headers=key) for _ in range(2)]
        assert len({reply.json()["message_id"] for reply in twice}) == 1


def test_two_long_keys_that_begin_alike_are_two(house: House) -> None:
    with house.http(house.alice) as http:
        longest = "k" * 199
        sent = [
            http.post(
                CHAT, json={"content": f"to {end}"}, headers={"Idempotency-Key": longest + end}
            )
            for end in ("a", "b")
        ]
        assert [reply.status_code for reply in sent] == [201, 201]
        assert len({reply.json()["message_id"] for reply in sent}) == 2


@pytest.mark.parametrize(
    "keys",
    [["k" * 201], [""], ["a\tb"], ["a", "a"], [b"\xff\xfe"], ["\x85".encode()]],
    ids=["long", "empty", "tab", "twice", "no text", "control"],
)
def test_a_key_that_would_be_cut_or_guessed_is_refused(
    house: House, keys: list[str | bytes]
) -> None:
    with house.http(house.alice) as http:
        before = http.get(CHAT, params={"limit": 200}).json()["messages"]
        headers = [(b"idempotency-key", k if isinstance(k, bytes) else k.encode()) for k in keys]
        reply = http.post(CHAT, json={"content": "hello"}, headers=headers)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_arguments")
        assert "Idempotency-Key" in reply.json()["error"]["message"]
        assert http.get(CHAT, params={"limit": 200}).json()["messages"] == before


def test_a_key_stands_for_one_message(house: House) -> None:
    with house.http(house.alice) as http:
        key = {b"Idempotency-Key": "鍵".encode()}
        first = http.post(CHAT, json={"content": "this"}, headers=key)
        other = http.post(CHAT, json={"content": "that"}, headers=key)
        again = http.post(CHAT, json={"content": "this"}, headers=key)
        assert (other.status_code, other.json()["error"]["code"]) == (409, "idempotency_conflict")
        assert first.json()["message_id"] == again.json()["message_id"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("after=999999999", 400),
        ("after=-1", 400),
        ("after=abc", 400),
        ("after=1.5", 400),
        ("after=" + "9" * 40, 400),
        ("after=٣", 400),
        ("limit=0", 400),
        ("limit=x", 400),
        ("limit=100000", 200),
    ],
)
def test_cursors_and_limits(house: House, query: str, status: int) -> None:
    with house.http(house.alice) as http:
        reply = http.get(f"{CHAT}?{query}")
        assert reply.status_code == status
        if status == 400:
            assert reply.json()["error"]["status"] == 400


@pytest.mark.parametrize("token", [None, "", "aipm_ui_wrong", "aipm_st_x"])
@pytest.mark.parametrize("path", [CHAT, "/p/agents/worker/chat/search?q=abc"])
def test_no_chat_without_a_token(house: House, token: str | None, path: str) -> None:
    with house.http(token) as http:
        reply = http.get(path)
        assert reply.status_code == 401
        assert "messages" not in reply.json()
        assert http.post(CHAT, json={"content": "x"}).status_code == 401


def test_other_projects_look_as_if_they_did_not_exist(house: House) -> None:
    with house.http(house.mallory) as http:
        foreign = http.get(CHAT)
        missing = http.get("/nothing/agents/worker/chat/messages")
        assert foreign.status_code == missing.status_code == 404
        assert foreign.json()["error"]["code"] == missing.json()["error"]["code"]
        assert http.post(CHAT, json={"content": "x"}).status_code == 404
        assert http.get("/p/agents/worker/chat/search?q=once").status_code == 404
        assert (
            http.get("/q/agents/worker/chat/messages").json()["error"]["code"]
            == (http.get("/q/agents/nobody/chat/messages").json()["error"]["code"])
        )


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"content": "x", "senderId": "worker"}', "invalid_arguments"),
        (b'{"content": "x", "content": "y"}', "invalid_arguments"),
        (b'{"content": 5}', "invalid_arguments"),
        (b"{}", "invalid_arguments"),
        (b"[]", "invalid_arguments"),
        (b"not json", "invalid_arguments"),
        (b'{"content": "  "}', "content_empty"),
        (json.dumps({"content": "x" * 4001}).encode(), "content_too_long"),
    ],
)
def test_bodies_that_are_refused(house: House, body: bytes, code: str) -> None:
    with house.http(house.alice) as http:
        reply = http.post(CHAT, content=body)
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"content": "x", "senderId": "worker"}', "senderId: この名前の引数はありません"),
        (b'{"content": 5}', "content: 文字列を指定してください"),
        (b"{}", "content: 必須です"),
        (b"[]", "オブジェクトを指定してください"),
    ],
)
def test_refusals_are_in_the_language_of_the_settings(
    house: House, body: bytes, words: str
) -> None:
    with house.http(house.alice) as http:
        assert words in http.post(CHAT, content=body).json()["error"]["message"]


@pytest.mark.parametrize("query", ["after=x", "after=-1", "limit=0", "limit="])
def test_a_number_that_is_none_is_told_what_it_should_be(house: House, query: str) -> None:
    with house.http(house.alice) as http:
        message = http.get(f"{CHAT}?{query}").json()["error"]["message"]
        assert f"{query.partition('=')[0]}: 整数を指定してください" in message


def test_nobody_writes_to_himself(house: House) -> None:
    with house.http(house.alice) as http:
        reply = http.post("/p/agents/alice/chat/messages", json={"content": "x"})
        assert reply.json()["error"]["code"] == "cannot_message_self"


def test_search_finds_words_in_any_language(house: House) -> None:
    search = "/p/agents/worker/chat/search"
    with house.http(house.alice) as http:
        texts = ("ログイン機能を実装した", 'say "100%" now', "日記", "ÜBER alles", "Привет", "ÖÄ")
        for text in texts:
            http.post(CHAT, json={"content": text})
        for query, count in (
            ("ログイン", 1),
            ("機能を", 1),
            ("LOGIN", 0),
            ('"100%"', 1),
            ("日", 1),
            ("機能", 1),
            ("ÜBER", 1),
            ("über", 1),
            ("привет", 1),
            ("ПРИВЕТ", 1),
            ("öä", 1),
            ("ÖÄ", 1),
            ("ö", 1),
            ("うえ", 0),
            ("%", 1),
            ("_", 0),
            ("NEAR(", 0),
            ("*", 0),
        ):
            found = http.get(search, params={"q": query}).json()["messages"]
            assert len(found) == count, query
        assert http.get(search, params={"q": " "}).status_code == 400
        assert http.get(search).status_code == 400


def test_say_and_read_receipts_at_the_command_line(house: House) -> None:
    run, install = house.install.run, house.install
    told = run("say", "worker", "--project", "p", "--as", "alice", "--json", "--", "--hello\x1b[2J")
    said = json.loads(told.stdout)["data"]
    assert (said["senderId"], said["content"]) == ("alice", "--hello\x1b[2J")
    shown = run("messages", "worker", "--project", "p", "--after", str(said["seq"] - 1)).stdout
    assert "\x1b" not in shown
    assert "[未読]" in shown
    rows = install.json("messages", "worker", "--project", "p", "--search=--hello")["messages"]
    assert [row["id"] for row in rows] == [said["id"]]
    for who, code, why in (
        ("worker", 4, "worker は人ではない"),
        ("nobody", 3, "エージェント nobody は存在しません"),
        ("mallory", 3, "プロジェクト p はありません"),  # to whom a foreign project does not exist
    ):
        refused = run("say", "worker", "--project", "p", "--as", who, "x", check=code)
        assert refused.stderr.count("\n") == 1
        assert why in refused.stderr
    run("say", "nobody", "--project", "p", "--as", "alice", "x", check=3)
    run("say", "stranger", "--project", "p", "--as", "alice", "x", check=3)
    run("say", "worker", "--project", "nothing", "--as", "alice", "x", check=3)
    run("say", "worker", "--project", "p", "--as", "alice", " ", check=2)
    run("messages", "nobody", "--project", "p", check=3)


def test_the_doctor_reports_and_rebuilds(house: House) -> None:
    """Beside a running server, which goes on writing to the file that was rebuilt."""
    install = house.install
    file = file_in(install.root / "work-p", "worker")
    with house.http(house.alice) as http:
        first = http.post(CHAT, json={"content": "before"}).json()["message_id"]
        file.write_text("somebody was here\n")
        findings = {row["name"]: row for row in install.json("doctor")}
        finding = findings["file_chat: chat_files"]
        assert (finding["status"], finding["next"]) == ("warn", "aipm doctor --rebuild-chat")
        install.run("doctor", "--rebuild-chat")
        second = http.post(CHAT, json={"content": "after"}).json()["message_id"]
        page = http.get(CHAT, params={"limit": 200}).json()
        assert [line["id"] for line in lines_of(file)] == [m["id"] for m in page["messages"]]
        assert [line["id"] for line in lines_of(file)][-2:] == [first, second]
    findings = {row["name"]: row for row in install.json("doctor")}
    assert findings["file_chat: chat_files"]["status"] == "ok"


def test_what_a_person_has_been_shown_is_read(house: House) -> None:
    """The receipt is for the receiver's eyes only: the sender's own look changes nothing."""
    install = house.install
    passkey = install.json("agent", "add", "writer", "--project", "p")["passkey"]
    with house.http(house.alice) as http, httpx.Client(base_url=house.server.url) as agent:
        token = _call(
            agent, "authenticate", agent_id="writer", passkey=passkey, project_id="p",
            purpose="chat",
        )["session_token"]  # fmt: skip
        sent = _call(
            agent, "send_message", session_token=token, target_agent_id="alice", content="read me"
        )
        shown = install.json("messages", "writer", "--project", "p")["messages"]
        assert [(m["id"], m["readAt"]) for m in shown] == [(sent["message_id"], None)]
        http.get("/p/agents/writer/chat/messages")
        shown = install.json("messages", "writer", "--project", "p")["messages"]
        assert shown[0]["readAt"] is not None


def _call(agent: httpx.Client, tool: str, **arguments: str) -> dict[str, str]:
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    reply = agent.post("/mcp", json=request, headers=headers).json()
    result: dict[str, str] = reply["result"]["structuredContent"]["result"]
    return result
