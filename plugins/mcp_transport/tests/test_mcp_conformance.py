"""The official conformance suite and the Inspector: proof by things nobody here wrote."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from aipm_devkit.program import Install, Server
from aipm_mcp_fixtures.node import Node

SUITE = ("@modelcontextprotocol/conformance", "dist/index.js")
INSPECTOR = ("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
REVISIONS = ("2025-11-25", "2026-07-28")
# Requests from the server to the client: a server without sessions has no way to send them.
PUSHED = {
    "tools-call-sampling",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
}


@pytest.fixture(scope="module", params=["default", "back channel"])
def fixtures(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Server]]:
    back_channel = "true" if request.param == "back channel" else "false"
    settings = f"[plugins.conformance]\nback_channel = {back_channel}\n"
    install = Install.make(tmp_path_factory.mktemp("conformance"), settings)
    here = Path(__file__).parent
    install.environ["PYTHONPATH"] = f"{here / 'fixtures'}{os.pathsep}{here / 'installed'}"
    install.environ["PYTHONWARNINGS"] = "ignore"  # the fixtures use what the SDK deprecates
    with install.up() as server:
        yield request.param, server


def failed_of(told: str) -> set[str]:
    summary = told.partition("=== SUMMARY ===")[2].partition("Not scored")[0]
    unscored = set(re.findall(r"✗ (\S+) \((?:extension|pending|added)", told))
    return set(re.findall(r"✗ (\S+):", summary)) - unscored


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_required_scenario_passes(
    node: Node, fixtures: tuple[str, Server], revision: str, tmp_path: Path
) -> None:
    kind, server = fixtures
    arguments = ["--url", server.mcp, "--requirements", revision, "-o", str(tmp_path)]
    done = node.run(*SUITE, "server", *arguments)
    passed = re.findall(r"✓ (\S+): [1-9]", done.stdout)
    expected = PUSHED if kind == "default" and revision == "2025-11-25" else set()
    assert failed_of(done.stdout) == expected, done.stdout
    assert len(passed) >= 25
    assert (done.returncode == 0) is (not expected)


@pytest.mark.parametrize("where", ["stdio", "http", "http modern"])
def test_the_inspector_lists_and_calls(
    node: Node, server: Server, where: str, tmp_path: Path
) -> None:
    target = [server.mcp]
    if where == "stdio":
        snippet = Install.make(tmp_path).run("mcp-config", "--client", "claude").stdout
        (tmp_path / "mcp.json").write_text(snippet)
        target = ["--config", str(tmp_path / "mcp.json"), "--server", "aipm"]
    era = ["--protocol-era", "modern"] if where == "http modern" else []
    common = ["--cli", *era, *target, "--format", "json", "--method"]
    listed = node.run(*INSPECTOR, *common, "tools/list", "--strict")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert "authenticate" in {t["name"] for t in json.loads(listed.stdout)["result"]["tools"]}
    called = node.run(*INSPECTOR, *common, "tools/call", "--tool-name", "help")
    assert called.returncode == 0, called.stdout + called.stderr
    result = json.loads(called.stdout)["result"]
    assert result["structuredContent"]["result"]["tools"]
