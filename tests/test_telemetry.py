"""Traces: off by default, one span a call when on, and nothing a caller said in any of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from aipm_devkit.program import Install

from tests.agents import Agent, log_in, team
from tests.collector import Collector, collecting

ON = "[telemetry]\nenabled = true\n"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as running:
        yield running


def went_well(name: str) -> tuple[str, dict[str, str], int]:
    """Return the whole span of a call of a tool that was answered."""
    return (f"tools/call {name}", {"gen_ai.tool.name": name, "aipm.outcome": "ok"}, 0)


def test_a_span_tells_the_tool_and_the_outcome_and_nothing_else(
    tmp_path: Path, collector: Collector
) -> None:
    install = Install.make(tmp_path, ON)
    install.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    install.environ["OTEL_EXPORTER_OTLP_COMPRESSION"] = "none"
    passkeys = team(install, "ann", "bob", directory=None)
    canary = "canary-5ee1"
    with install.up() as server:
        agent = log_in(server.mcp, "ann", passkeys["ann"])
        agent.call("send_message", target_agent_id="bob", content=canary)
        agent.call(canary)
    calls = [span for span in collector.spans() if span[0].startswith("tools/call")]
    assert calls == [
        *(went_well(name) for name in ("create_project", "add_agent", "add_agent", "authenticate")),
        (
            "tools/call send_message",
            {
                "gen_ai.tool.name": "send_message",
                "aipm.outcome": "working_directory_not_set",
                "error.type": "working_directory_not_set",
            },
            2,
        ),
        ("tools/call", {"aipm.outcome": "tool_not_found", "error.type": "tool_not_found"}, 0),
    ]
    everything = b"".join(collector.bodies)
    for secret in (canary, passkeys["ann"], agent.token, "ann", "bob"):
        assert secret
        assert secret.encode() not in everything


def test_a_collector_that_is_gone_disturbs_nobody(tmp_path: Path) -> None:
    install = Install.make(tmp_path, ON)
    install.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:1"
    with install.up() as server:
        assert "result" in Agent(server.mcp).call("help")
        server.process.terminate()
        assert server.process.wait(10) == 0


def test_it_is_off_by_default(tmp_path: Path, collector: Collector) -> None:
    install = Install.make(tmp_path)
    install.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = collector.url
    with install.up() as server:
        Agent(server.mcp).call("help")
    assert collector.bodies == []


def test_a_missing_library_is_one_sentence(tmp_path: Path) -> None:
    absent = tmp_path / "absent" / "opentelemetry"
    absent.mkdir(parents=True)
    (absent / "__init__.py").write_text("raise ImportError\n", encoding="utf-8")
    install = Install.make(tmp_path, ON)
    install.environ["PYTHONPATH"] = str(absent.parent)
    done = install.run("up", "--port", "0", check=2)
    assert "pip install 'aipm-runtime[otel]'" in done.stderr
    assert done.stderr.count("\n") == 1
