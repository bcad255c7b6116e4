"""Bad input: each piece gets its typed answer, the process lives, nobody else notices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from aipm_devkit.program import Server
from aipm_mcp_fixtures.wire import ERAS, Era, HttpFront, StdioFront, call, headers_of, request
from aipm_mcp_transport.clients import Clients
from aipm_mcp_transport.progress import ProgressReport

DEEP = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b'{"a":' * 10_000 + b"1"
CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"probe_echo","arguments":%s}}'
)

# name: body, JSON-RPC code
MALFORMED: dict[str, tuple[bytes, int]] = {
    "not json": (b"hello", -32700),
    "half json": (b'{"jsonrpc":"2.0","id":1,', -32700),
    "10,000 deep": (DEEP + b"}" * 10_001, -32700),
    "10,000 deep, unclosed": (DEEP, -32700),
    "duplicate key": (CALL % b'{"text":"a","text":"b"}', -32700),
    "duplicate method": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', -32700),
    "NaN": (CALL % b'{"text":NaN}', -32700),
    "Infinity": (CALL % b'{"text":-Infinity}', -32700),
    "a number beyond floats": (CALL % b'{"text":1e999}', -32700),
    "an integer beyond 64 bits": (CALL % b'{"text":9223372036854775808}', -32700),
    "an id beyond 64 bits": (b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % 10**30, -32700),
    "lone surrogate": (CALL % b'{"text":"\\ud800"}', -32700),
    "invalid UTF-8": (CALL % b'{"text":"\xff\xfe"}', -32700),
    "UTF-16": ('{"jsonrpc":"2.0"}'.encode("utf-16"), -32700),
    "batch": (b"[" + CALL % b'{"text":"a"}' + b"]", -32600),
    "empty batch": (b"[]", -32600),
    "a string": (b'"ping"', -32600),
    "null": (b"null", -32600),
}

# arguments, code, field named in the message
ARGUMENTS: dict[str, tuple[Any, str]] = {
    "wrong type": ({"text": 1}, "text"),
    "missing": ({}, "text"),
    "extra": ({"text": "a", "color": "red"}, "color"),
    "number as text": ({"text": "a", "number": "1"}, "number"),
    "boolean as number": ({"text": "a", "number": True}, "number"),
    "null": ({"text": None}, "text"),
    "object": ({"text": {"deep": []}}, "text"),
}


@pytest.fixture(scope="module")
def stdio(team: Any) -> Iterator[StdioFront]:
    with team.stdio() as front:
        yield front.greet()


def lives(front: HttpFront | StdioFront) -> bool:
    answer = front.ask(call("legacy", "probe_echo", {"text": "alive"}, "alive"))
    return bool(answer["result"]["isError"] is False and answer["id"] == "alive")


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_messages_over_http(server: Server, http: HttpFront, name: str) -> None:
    body, code = MALFORMED[name]
    answer = httpx.post(server.mcp, content=body, headers=headers_of(None))
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == code
    assert answer.json()["id"] is None
    assert lives(http)


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_messages_over_stdio(stdio: StdioFront, name: str) -> None:
    body, code = MALFORMED[name]
    stdio.write(body.replace(b"\n", b" ") + b"\n")
    answer = stdio.read()
    assert (answer["error"]["code"], answer["id"]) == (code, None)
    assert lives(stdio)


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("era", ERAS)
def test_wrong_arguments_name_the_field(http: HttpFront, era: Era, name: str) -> None:
    arguments, field = ARGUMENTS[name]
    envelope = http.ask(call(era, "probe_echo", arguments))["result"]["structuredContent"]
    assert (envelope["error"]["code"], envelope["error"]["status"]) == ("invalid_arguments", 400)
    assert field in envelope["error"]["message"]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_arguments_over_stdio(stdio: StdioFront, name: str) -> None:
    arguments, field = ARGUMENTS[name]
    envelope = stdio.ask(call("legacy", "probe_echo", arguments))["result"]["structuredContent"]
    assert envelope["error"]["code"] == "invalid_arguments"
    assert field in envelope["error"]["message"]


@pytest.mark.parametrize("arguments", [[], "text", 7, [{"text": "a"}]])
@pytest.mark.parametrize("era", ERAS)
def test_arguments_that_are_no_object(
    http: HttpFront, stdio: StdioFront, era: Era, arguments: Any
) -> None:
    message = call(era, "probe_echo", arguments)
    assert http.ask(message)["error"]["code"] == -32602
    if era == "legacy":
        assert stdio.ask(message)["error"]["code"] == -32602


@pytest.mark.parametrize("number", [1.5, True, None, [], {}])
def test_ids_that_are_none(http: HttpFront, stdio: StdioFront, number: Any) -> None:
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/list"}
    answer = http.post(message)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {-32600, -32602}
    stdio.tell(message)
    assert stdio.read()["error"]["code"] == -32600
    assert lives(stdio)
    assert lives(http)


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_of_two_megabytes_is_refused(
    server: Server, http: HttpFront, *, declared: bool
) -> None:
    body = json.dumps(call("legacy", "probe_echo", {"text": "x" * 2 * 1024 * 1024})).encode()
    content: Any = body if declared else iter([body[: len(body) // 2], body[len(body) // 2 :]])
    answer = httpx.post(server.mcp, content=content, headers=headers_of(None))
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "body_too_large"
    assert lives(http)


@pytest.mark.parametrize("megabytes", [2, 5])
def test_a_line_of_megabytes_is_refused_once(stdio: StdioFront, megabytes: int) -> None:
    stdio.tell(call("legacy", "probe_echo", {"text": "x" * megabytes * 1024 * 1024}))
    answer = stdio.read()
    assert answer["error"]["code"] == -32600
    assert "1048576" in answer["error"]["message"]
    assert lives(stdio)


def test_the_largest_bearable_message_is_answered(
    server: Server, team: Any, http: HttpFront, stdio: StdioFront
) -> None:
    login = http.ask(call("legacy", "authenticate", team.login))["result"]["structuredContent"]
    message = call("legacy", "probe_echo", {"text": "x" * 1_000_000})
    with HttpFront(server.mcp, login["result"]["session_token"]) as known:
        assert known.ask(message)["result"]["isError"] is False
    assert http.post(message).status_code == 413
    assert stdio.ask(message)["result"]["isError"] is False
    assert lives(stdio)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_the_wrong_content_type_is_refused(http: HttpFront, kind: str) -> None:
    answer = http.post(call("legacy", "probe_echo", {"text": "a"}), **{"content-type": kind})
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, -32600)


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"host": "evil.example"}, 421, "host_not_allowed"),
        ({"host": "127.0.0.1:1"}, 421, "host_not_allowed"),
        ({"origin": "https://evil.example"}, 403, "origin_not_allowed"),
        ({"origin": "null"}, 403, "origin_not_allowed"),
    ],
)
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_foreign_pages_and_names_are_refused(
    server: Server, method: str, headers: dict[str, str], status: int, code: str
) -> None:
    answer = httpx.request(
        method, server.mcp, headers={**headers_of(None), **headers}, content=b"{}"
    )
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == code


def test_own_pages_are_welcome(server: Server, http: HttpFront) -> None:
    origin = f"http://{urlsplit(server.mcp).netloc}"
    answer = http.post(call("legacy", "probe_echo", {"text": "a"}), origin=origin)
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"io.modelcontextprotocol/protocolVersion": "2099-01-01"},
        {"io.modelcontextprotocol/clientCapabilities": 5},
        {"io.modelcontextprotocol/clientInfo": {"name": 5}},
        {"progressToken": {}},
    ],
)
def test_broken_envelopes_are_bad_requests(http: HttpFront, change: dict[str, Any]) -> None:
    message = call("modern", "probe_echo", {"text": "a"}, 1, **change)
    answer = http.post(message)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {-32602, -32022}


@pytest.mark.parametrize("era", ERAS)
def test_unknown_methods(http: HttpFront, era: Era) -> None:
    answer = http.post(request(era, "tools/destroy"))
    assert answer.status_code == (404 if era == "modern" else 200)
    assert '"code":-32601' in answer.text


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        ({"method": 5}, -32600, "Invalid Request: method must be a string"),
        ({"method": None}, -32600, "Invalid Request: method must be a string"),
        ({"params": ["secret"]}, -32602, "Invalid params: params must be an object"),
        ({"params": "secret"}, -32602, "Invalid params: params must be an object"),
    ],
)
def test_a_refusal_is_a_sentence_that_repeats_nothing(
    http: HttpFront, change: dict[str, Any], code: int, told: str
) -> None:
    answer = http.post({**request("legacy", "tools/list"), **change})
    assert (answer.status_code, answer.json()["error"]) == (400, {"code": code, "message": told})
    assert lives(http)


@pytest.mark.parametrize(
    "change", [{"jsonrpc": "1.0"}, {"id": 1.5}, {"params": ["probe_echo"]}, {"extra": True}]
)
def test_a_call_that_is_no_request_runs_nothing(
    http: HttpFront, stdio: StdioFront, change: dict[str, Any]
) -> None:
    message = {**call("legacy", "probe_crash"), **change}
    answer = http.post(message)
    if change != {"extra": True}:  # more members than the specification knows do no harm
        assert answer.json()["error"]["code"] in {-32600, -32602}
        assert stdio.ask(message)["error"]["code"] in {-32600, -32602}
    assert lives(http)
    assert lives(stdio)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("token", [{}, [], 1.5, True])
def test_progress_tokens_that_are_none(team: Any, era: Era, token: Any) -> None:
    with team.stdio() as front:
        if era == "legacy":
            front.greet()
        message = call(era, "probe_echo", {"text": "a"}, progressToken=token)
        assert front.ask(message)["error"]["code"] == -32602


@pytest.mark.parametrize("change", [{"requestState": 5}, {"inputResponses": []}])
def test_answers_of_the_wrong_form_are_refused(team: Any, change: dict[str, Any]) -> None:
    with team.stdio() as front:
        message = call("modern", "probe_echo", {"text": "a"})
        message["params"] |= change
        assert front.ask(message)["error"]["code"] == -32602


def test_blank_lines_and_strange_cancellations_are_nothing(stdio: StdioFront) -> None:
    stdio.write(b"\n  \n\r\n")
    strange: list[Any] = [None, {}, {"requestId": "nobody"}, {"requestId": {}}]
    for params in strange:
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        stdio.tell(message)
    assert lives(stdio)


def test_two_calls_under_one_id_are_both_answered(stdio: StdioFront) -> None:
    twice = json.dumps(call("legacy", "probe_echo", {"text": "a"}, "same")).encode() + b"\n"
    stdio.write(twice * 2)
    assert [stdio.read()["id"] for _ in range(2)] == ["same", "same"]
    assert lives(stdio)


def test_clients_that_can_ask_are_remembered_up_to_a_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("aipm_mcp_transport.clients._MOST", 2)
    clients = Clients()
    for session in ("a", "b"):
        clients.remember(session)
    assert clients.can_ask("a")  # and is the one that was used last
    clients.remember("c")
    assert [clients.can_ask(session) for session in ("a", "b", "c", None)] == [
        True,
        False,
        True,
        False,
    ]


async def test_progress_only_rises_and_beats_stop_when_the_tool_speaks() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message["params"])

    report = ProgressReport("token", send)
    await report.beat()
    await report.beat()  # within a tenth of a second: nothing new
    for progress in (5, 4, 5, 6):
        await report.report(progress, 10, None)
    await report.beat()
    assert [told["progress"] for told in sent][-2:] == [5, 6]
    assert len(sent) == len({told["progress"] for told in sent})
