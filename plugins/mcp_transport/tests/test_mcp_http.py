"""Agents over HTTP, as the official client and as a raw socket see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from aipm_devkit.program import Install, Server
from aipm_mcp_fixtures.probe import REPLACED
from aipm_mcp_fixtures.wire import ERAS, HELLO, Era, HttpFront, call, messages_of, request
from mcp import Client
from mcp.shared.exceptions import MCPError

MODES: tuple[Any, ...] = ("auto", "legacy")


def envelope_of(result: Any) -> Any:
    """Return the one object a result carries in both places."""
    assert [block["type"] for block in result["content"]] == ["text"]
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def token_of(team: Any, http: HttpFront) -> str:
    answer = http.ask(call("modern", "authenticate", {**team.login, "purpose": "task"}))
    token: str = envelope_of(answer["result"])["result"]["session_token"]
    return token


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_logs_in_and_works(team: Any, server: Server, mode: Any) -> None:
    async with Client(server.mcp, mode=mode) as client:
        assert "get_next_action" in (client.instructions or "")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"authenticate", "help", "logout"} <= tools.keys()
        assert tools["help"].annotations is not None
        assert tools["help"].annotations.read_only_hint is True
        assert all(tool.output_schema is None for tool in tools.values())
        login = await client.call_tool("authenticate", {**team.login, "purpose": "task"})
        token = (login.structured_content or {})["result"]["session_token"]
        who = await client.call_tool("probe_whoami", {"session_token": token})
        assert who.is_error is False
        assert (who.structured_content or {})["result"]["agent_id"] == "worker"
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool", {})
        assert (unknown.value.error.code, unknown.value.error.data) == (
            -32602,
            {"code": "tool_not_found"},
        )


def test_tools_that_change_something_say_that_it_stays_here(http: HttpFront) -> None:
    """Codex asks a person, or refuses, before it runs what may reach the world."""
    for tool in http.ask(request("legacy", "tools/list"))["result"]["tools"]:
        hints = tool["annotations"]
        assert {"readOnlyHint", "destructiveHint", "idempotentHint"} <= hints.keys()
        assert hints["readOnlyHint"] or hints["openWorldHint"] is False


@pytest.mark.parametrize("era", ERAS)
def test_errors_carry_the_same_envelope_in_both_places(http: HttpFront, era: Era) -> None:
    result = http.ask(call(era, "probe_whoami"))["result"]
    assert result["isError"] is True
    error = envelope_of(result)["error"]
    assert (error["code"], error["status"]) == ("authentication_required", 401)
    crashed = http.ask(call(era, "probe_crash"))["result"]
    assert envelope_of(crashed)["error"]["code"] == "internal_error"
    assert "detail nobody outside" not in json.dumps(crashed)


@pytest.mark.parametrize("era", ERAS)
def test_a_replaced_reply_is_one_text_and_nothing_else(
    team: Any, http: HttpFront, server: Server, era: Era
) -> None:
    with HttpFront(server.mcp, token_of(team, http)) as agent:
        result = agent.ask(call(era, "probe_echo", {"text": "replace me"}))["result"]
    assert result["content"] == [{"type": "text", "text": REPLACED}]
    assert "structuredContent" not in result
    assert result["isError"] is False


@pytest.mark.parametrize("era", ERAS)
def test_the_token_may_come_by_header(team: Any, http: HttpFront, server: Server, era: Era) -> None:
    token = token_of(team, http)
    with HttpFront(server.mcp, token) as agent:
        assert envelope_of(agent.ask(call(era, "probe_whoami"))["result"])["result"]
        both = agent.ask(call(era, "probe_whoami", {"session_token": token}))["result"]
        assert both["isError"] is False
        other = agent.ask(call(era, "probe_whoami", {"session_token": "aipm_st_other"}))["result"]
        assert envelope_of(other)["error"]["code"] == "session_token_mismatch"


@pytest.mark.parametrize("header", ["Bearer", "Bearer ${AIPM_SESSION_TOKEN}", "Basic YTpi"])
def test_a_header_nobody_filled_in_is_no_token(team: Any, http: HttpFront, header: str) -> None:
    token = token_of(team, http)
    message = call("legacy", "probe_whoami", {"session_token": token})
    answer = http.post(message, authorization=header).json()
    assert answer["result"]["isError"] is False


def test_what_gemini_adds_to_every_call_is_taken_out(http: HttpFront) -> None:
    arguments = {"text": "hi", "wait_for_previous": True}
    assert http.ask(call("legacy", "probe_echo", arguments))["result"]["isError"] is False
    unknown = http.ask(call("legacy", "probe_echo", {"text": "hi", "wait": True}))["result"]
    assert envelope_of(unknown)["error"]["code"] == "invalid_arguments"


@pytest.mark.parametrize("era", ERAS)
def test_tools_for_user_interfaces_do_not_exist_for_agents(http: HttpFront, era: Era) -> None:
    listed = http.ask(request(era, "tools/list"))["result"]["tools"]
    assert "probe_internal" not in {tool["name"] for tool in listed}
    error = http.ask(call(era, "probe_internal"))["error"]
    assert (error["code"], error["data"]) == (-32602, {"code": "tool_not_found"})


def test_a_tool_that_is_switched_off_says_so(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "[plugins.conversations]\nenabled = false\n")
    with install.up() as server, HttpFront(server.mcp) as http:
        result = http.ask(call("legacy", "start_conversation"))["result"]
    assert envelope_of(result)["error"]["code"] == "tool_disabled"


def test_any_process_answers_any_legacy_request(http: HttpFront) -> None:
    hello = http.post(request("legacy", "initialize", HELLO))
    assert messages_of(hello)[0]["result"]["protocolVersion"] == "2025-11-25"
    assert len(hello.headers["mcp-session-id"]) == 32
    foreign = {"mcp-session-id": "from-another-process", "mcp-protocol-version": "2025-11-25"}
    assert messages_of(http.post(request("legacy", "tools/list"), **foreign))[0]["result"]["tools"]
    said = http.post(call("legacy", "probe_echo", {"text": "hi"}), **foreign)
    assert said.json()["result"]["isError"] is False


def test_there_is_no_stream_to_get_and_no_session_to_delete(server: Server) -> None:
    for method in ("GET", "DELETE", "PUT"):
        answer = httpx.request(method, server.mcp, headers={"accept": "text/event-stream"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert answer.json()["error"]["code"] == -32600


def test_every_answer_carries_the_safe_headers(http: HttpFront) -> None:
    headers = http.post(call("legacy", "probe_echo", {"text": "hi"})).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"


def test_unknown_tools_are_bad_requests_in_the_modern_era(http: HttpFront) -> None:
    assert http.post(call("modern", "no_such_tool")).status_code == 400
    assert http.post(call("legacy", "no_such_tool")).status_code == 200


@pytest.mark.parametrize(
    ("header", "value"), [("mcp-name", "probe_wake"), ("mcp-method", "tools/list")]
)
def test_headers_that_contradict_the_body_are_refused(
    http: HttpFront, header: str, value: str
) -> None:
    answer = http.post(call("modern", "probe_echo", {"text": "hi"}), **{header: value})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)
