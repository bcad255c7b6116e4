"""One agent over standard input and output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from signal import SIGTERM
from typing import Any

import pytest
from aipm_devkit.program import Install
from aipm_mcp_fixtures.wire import ERAS, HELLO, Era, HttpFront, call, request
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

AIPM = Path(sys.executable).with_name("aipm")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_logs_in_and_works(team: Any, mode: Any) -> None:
    settings = str(team.install.root / "aipm.toml")
    process = StdioServerParameters(
        command=str(AIPM), args=["mcp", "--config", settings], env=team.install.env()
    )
    async with Client(stdio_client(process), mode=mode) as client:
        assert "get_notifications" in (client.instructions or "")
        assert "authenticate" in {tool.name for tool in (await client.list_tools()).tools}
        login = await client.call_tool("authenticate", {**team.login, "purpose": "task"})
        token = (login.structured_content or {})["result"]["session_token"]
        who = await client.call_tool("probe_whoami", {"session_token": token})
        assert (who.structured_content or {})["result"]["agent_id"] == "worker"


def test_the_token_may_come_from_the_environment(team: Any, http: HttpFront) -> None:
    answer = http.ask(call("legacy", "authenticate", {**team.login, "purpose": "task"}))
    token = answer["result"]["structuredContent"]["result"]["session_token"]
    with team.stdio(AIPM_SESSION_TOKEN=token) as agent:
        who = agent.greet().ask(call("legacy", "probe_whoami"))["result"]["structuredContent"]
        assert who["result"]["agent_id"] == "worker"
    with team.stdio(AIPM_SESSION_TOKEN="${AIPM_SESSION_TOKEN}") as agent:
        who = agent.greet().ask(call("legacy", "probe_whoami"))["result"]["structuredContent"]
        assert who["error"]["code"] == "authentication_required"


def test_stdout_carries_protocol_only_whatever_a_plugin_prints(team: Any) -> None:
    with team.stdio(AIPM_PLUGINS__PROBE__NOISY="true") as agent:
        agent.greet()
        printed = agent.ask(call("legacy", "probe_print"))
        assert printed["result"]["structuredContent"]["result"] == {"printed": True}
        assert agent.ask(request("legacy", "ping")) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        code, rest, errors = agent.finish()
    assert (code, rest) == (0, b"")
    for line in (
        b"printed while the plugin is built",
        b"printed by a tool",
        b"written by a tool",
        b"written to descriptor 1",
        b"echoed by a child",
    ):
        assert line in errors


def test_half_a_line_and_the_end_is_a_clean_end(team: Any) -> None:
    with team.stdio() as agent:
        agent.greet().write(b'{"jsonrpc":"2.0","id":9,"method":"pi')
        assert agent.finish()[:2] == (0, b"")


def test_answers_still_come_after_the_client_closed_its_end(team: Any) -> None:
    with team.stdio() as agent:
        agent.greet().tell(call("legacy", "probe_echo", {"text": "last words"}, 7))
        code, out, _ = agent.finish()
    assert code == 0
    assert json.loads(out)["id"] == 7


def test_an_open_poll_does_not_keep_the_process(team: Any) -> None:
    with team.stdio() as agent:
        agent.greet().tell(call("legacy", "probe_wait", {"seconds": 50}, 7))
        assert agent.ask(request("legacy", "ping"))["result"] == {}
        assert agent.finish()[:2] == (0, b"")
    with team.stdio() as agent:
        agent.greet().tell(call("legacy", "probe_wait", {"seconds": 50}, 7))
        assert agent.ask(request("legacy", "ping"))["result"] == {}
        agent.process.send_signal(SIGTERM)
        assert agent.finish()[0] == 0


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_ends_at_once_and_is_not_answered(team: Any, era: Era) -> None:
    with team.stdio() as agent:
        if era == "legacy":
            agent.greet()
        agent.tell(call(era, "probe_wait", {"seconds": 50}, "long"))
        counted = agent.ask(call(era, "probe_waiting", name=1))
        assert counted["result"]["structuredContent"]["result"] == {"waiting": 1}
        params = {"requestId": "long", "reason": "enough"}
        agent.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        counted = agent.ask(call(era, "probe_waiting", name=2))
        assert counted["id"] == 2
        assert counted["result"]["structuredContent"]["result"] == {"waiting": 0}


def test_long_waits_report_rising_progress(team: Any) -> None:
    with team.stdio() as agent:
        agent.greet().tell(call("legacy", "probe_wait", {"seconds": 50}, 1, progressToken="p"))
        seen = [agent.read()["params"] for _ in range(2)]
        assert [params["progressToken"] for params in seen] == ["p", "p"]
        assert 0 < seen[0]["progress"] < seen[1]["progress"]


def test_stdio_and_server_wake_each_other(team: Any, http: HttpFront) -> None:
    """Both processes look at the same store; a datagram wakes the other one's waiter."""
    with team.stdio() as agent:
        agent.greet().tell(call("legacy", "probe_wait_store", {"seconds": 50}, "w"))
        assert agent.ask(call("legacy", "probe_waiting"))["id"] == 1
        http.ask(call("legacy", "probe_wake_store"))
        woken = agent.read()
    assert (woken["id"], woken["result"]["structuredContent"]["result"]) == ("w", {"woken": True})


def test_input_may_be_a_file(team: Any, tmp_path: Path) -> None:
    hello = json.dumps(request("legacy", "initialize", HELLO)) + "\n"
    (tmp_path / "in").write_text(hello + json.dumps(request("legacy", "tools/list")) + "\n")
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        code = subprocess.run(
            [AIPM, "mcp"],
            cwd=team.install.root,
            env=team.install.env(),
            stdin=given,
            stdout=taken,
            timeout=20,
        ).returncode
    answers = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert code == 0
    assert answers[1]["result"]["tools"]


def test_the_sdk_is_not_imported(team: Any) -> None:
    script = (
        "import sys; from aipm_cli import main; code = main(['mcp']);"
        "sys.stderr.write(' '.join(sys.modules)); sys.exit(code)"
    )
    with team.run([sys.executable, "-c", script]) as agent:
        code, _, errors = agent.greet().finish()
    loaded = set(errors.decode().split())
    assert code == 0
    assert "aipm_mcp_transport.stdio" in loaded
    assert loaded.isdisjoint({"mcp", "mcp_types", "starlette", "uvicorn", "typer"})


def test_without_the_plugin_the_command_says_so(tmp_path: Path) -> None:
    install = Install.make(tmp_path, "[plugins.mcp_transport]\nenabled = false\n")
    failed = install.run("mcp", check=2)
    assert failed.stderr.count("\n") == 1
    assert "mcp_transport" in failed.stderr
