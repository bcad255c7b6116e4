"""Code that holds up the event loop or the writer is reported; what waits properly is not."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aipm_devkit.program import Install, Server

from tests.agents import Agent, log_in

BLOCKING_PLUGIN = Path(__file__).with_name("blocking_plugin")
SOURCE = BLOCKING_PLUGIN / "aipm_blocking_plugin" / "__init__.py"
SETTINGS = "[log]\nformat = 'json'\n[plugins.blocking]\n"
PAUSE = 1.2  # seconds: more than twice what is reported


@pytest.fixture
def install(tmp_path: Path) -> Install:
    made = Install.make(tmp_path, SETTINGS)
    made.environ["PYTHONPATH"] = str(BLOCKING_PLUGIN)
    return made


@pytest.fixture(scope="module")
def letters() -> int:
    """How long a text must be for the expression to take about a second on this machine."""
    for number in range(16, 40):
        began = time.process_time()
        re.match(r"(?:a|a)*b", "a" * number)
        if time.process_time() - began > 1:
            return number
    raise AssertionError("the expression is not bad enough")


def reports(server: Server) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in server.log.splitlines()]
    return [record for record in records if record["logger"] == "aipm_operations.watchdog"]


def line_of(name: str) -> str:
    lines = SOURCE.read_text().splitlines()
    return f"{SOURCE}:{next(n for n, line in enumerate(lines, 1) if f'line of {name}' in line)}"


def check(report: dict[str, Any], record: str, what: str, line: str) -> None:
    assert (report["level"], report["plugin"]) == ("warning", "blocking")
    assert report["message"] == (
        f"plugin blocking: {record} has held up {what} for 0.5 s, at {line_of(line)}"
    )
    assert f'File "{SOURCE}"' in report["stack"]


def test_a_tool_that_sleeps_is_named_once_with_its_line(install: Install) -> None:
    with install.up() as server:
        agent = Agent(server.mcp)
        agent.result("hold_sleep")
        agent.result("hold_sleep")
    first, second = reports(server)
    check(first, "hold_sleep", "the event loop", "hold_sleep")
    check(second, "hold_sleep", "the event loop", "hold_sleep")


def test_a_bad_expression_is_named_though_it_lets_nobody_look(
    install: Install, letters: int
) -> None:
    """Who gets the interpreter next is not ours to say: one report of several may come too late."""
    with install.up() as server:
        agent = Agent(server.mcp)
        for _ in range(4):
            agent.result("hold_regex", letters=letters)
    named = [report for report in reports(server) if report["plugin"] == "blocking"]
    assert named
    for report in named:
        check(report, "hold_regex", "the event loop", "hold_regex")


def test_strict_ends_the_call_that_blocks_and_nothing_else(install: Install, letters: int) -> None:
    with install.up("--strict") as server:
        agent = Agent(server.mcp)
        ended = agent.call("hold_sleep")["error"]
        assert (ended["code"], "inc_" in ended["message"]) == ("internal_error", True)
        agent.call("hold_regex", letters=letters)  # is no Python: ended when it returns, if seen
        agent.result("hold_unit")  # the writer is not the loop
        assert agent.result("help")
    (record,) = [r for r in map(json.loads, server.log.splitlines()) if "hold_sleep failed" in
                 r["message"]]  # fmt: skip
    assert record["plugin"] == "blocking"
    assert "held up the event loop for 0.5 s and was ended" in record["exception"]


def test_a_unit_that_holds_the_writer_is_named(install: Install) -> None:
    with install.up() as server:
        Agent(server.mcp).result("hold_unit")
    (report,) = reports(server)
    record = "BlockingPlugin.hold_unit.<locals>.slow_unit"
    check(report, record, "the writer of the store", "hold_unit")


def test_a_background_job_is_named_by_its_package(install: Install) -> None:
    with install.up() as server:
        Agent(server.mcp).result("hold_later")
        Agent(server.mcp).result("help")
    (report,) = reports(server)
    check(report, "BlockingPlugin._work", "the event loop", "hold_later")


def test_it_is_counted(install: Install) -> None:
    install.run("project", "add", "p")
    install.run("agent", "add", "mia", "--project", "p", "--type", "human")
    token = install.json("token", "create", "--agent", "mia")["token"]
    with install.up() as server:
        Agent(server.mcp).result("hold_sleep")
        headers = {"authorization": f"Bearer {token}"}
        numbers = httpx.get(f"{server.url}/metrics", headers=headers).text
    assert 'aipm_blocked_total{plugin="blocking"} 1.0' in numbers


def test_what_waits_properly_is_not_reported(install: Install) -> None:
    install.run("project", "add", "p")
    passkey = install.json("agent", "add", "ann", "--project", "p")["passkey"]
    with install.up() as server:
        agent = log_in(server.mcp, "ann", passkey)
        agent.result("wait")  # behind a gate that waits, too
    assert reports(server) == []


def test_a_suspended_process_is_nobodys_fault(install: Install) -> None:
    with install.up() as server:
        agent = Agent(server.mcp)
        agent.result("help")
        with suspended(server):
            time.sleep(PAUSE)  # what is tested is that time passes
        agent.result("help")
    assert reports(server) == []


@contextmanager
def suspended(server: Server) -> Iterator[None]:
    """Let a call suspend the whole server; wake it at the end of the block."""
    root = Path(__file__).parents[1]
    with subprocess.Popen([sys.executable, "-c", CALL, server.mcp], cwd=root) as call:
        os.waitid(os.P_PID, server.process.pid, os.WSTOPPED | os.WNOWAIT)
        try:
            yield
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert call.wait(30) == 0


CALL = """
import sys
from tests.agents import Agent
Agent(sys.argv[1]).result("stop_here")
"""


def test_it_also_watches_over_stdio(install: Install) -> None:
    lines = [
        rpc(1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=CLIENT),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        rpc(2, "tools/call", name="hold_sleep", arguments={}),
    ]
    done = subprocess.run(
        [Path(sys.executable).with_name("aipm"), "mcp"],
        input="".join(json.dumps(line) + "\n" for line in lines),
        cwd=install.root,
        env=install.env(),
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    told = [json.loads(line) for line in done.stderr.splitlines()]
    (report,) = [record for record in told if record["logger"] == "aipm_operations.watchdog"]
    check(report, "hold_sleep", "the event loop", "hold_sleep")


CLIENT = {"name": "test", "version": "1"}


def rpc(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
