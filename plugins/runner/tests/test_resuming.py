"""Conversations that go on: after a crash, after a stop, after a limit; and those that cannot."""

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from aipm_devkit.program import Install
from aipm_processes.api import marked
from aipm_runner.conformance.trial import FAKE

PATIENCE_SECONDS = 90.0
PROTOCOLS = {"claude": "stream-json", "codex": "app-server", "acp": "acp"}
SCENARIOS = ("cut_off", "forgetful", "used_up", "stalled")
HEAD = """
locale = "en"
[server]
port = 0
[plugins.runner]
retry_seconds = 0.2
linger_seconds = 1
stop_seconds = 1
max_runs = 8
"""


class Team:
    """One server; an agent for each program and each way to be cut off."""

    def __init__(self, root: Path) -> None:
        programs = [
            f"[plugins.runner.programs.{adapter}-{scenario}]\nadapter = '{adapter}'\n"
            f"command = {json.dumps([*FAKE, protocol, scenario])}\n"
            for adapter, protocol in PROTOCOLS.items()
            for scenario in SCENARIOS
        ]
        self.install = Install.make(root, HEAD + "".join(programs))
        (root / "work").mkdir()
        for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
            who = ("-c", "user.name=x", "-c", "user.email=x@x")
            subprocess.run(["git", *who, *words], cwd=root / "work", check=True)
        self.install.run("project", "add", "p", "--dir", "work")
        mia = ("mia", "--project", "p", "--type", "human", "--role", "manager")
        self.install.run("agent", "add", *mia)
        self._token = self.install.json("token", "create", "--agent", "mia")["token"]
        self.url = ""

    def tool(self, name: str, **given: Any) -> Any:
        headers, body = {"authorization": f"Bearer {self._token}"}, {"project_id": "p", **given}
        reply = httpx.post(f"{self.url}/api/tools/{name}", headers=headers, json=body, timeout=60)
        assert reply.is_success, reply.text
        return reply.json()["result"]

    def start(self, adapter: str, scenario: str) -> str:
        """Give a new agent something to do; return its name."""
        name = f"{adapter}-{scenario}".replace("_", "-")
        self.tool("add_agent", agent_id=name, parent_id="mia", program=f"{adapter}-{scenario}")
        self.tool("create_task", title="t", assignee_id=name, status="in_progress")
        return name

    def runs(self, agent: str) -> list[dict[str, Any]]:
        """Return the runs of an agent, oldest first."""
        with closing(sqlite3.connect(self.install.root / ".aipm-data" / "aipm.db")) as wire:
            wire.row_factory = sqlite3.Row
            sql = "select * from runs where agent_id = ? order by number"
            return [dict(row) for row in wire.execute(sql, (agent,))]

    def wait(self, agent: str, look: Callable[[list[dict[str, Any]]], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := look(self.runs(agent))):
            assert time.monotonic() < deadline, self.runs(agent)
            time.sleep(0.1)
        return found

    def ok(self, agent: str) -> list[dict[str, Any]]:
        """Wait until a run has ended well; return all up to then."""
        found: list[dict[str, Any]] = self.wait(
            agent, lambda runs: runs if any(run["end_reason"] == "ok" for run in runs) else None
        )
        return found[: [run["end_reason"] for run in found].index("ok") + 1]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    made = Team(tmp_path_factory.mktemp("resuming"))
    with made.install.up() as server:
        made.url = server.url
        yield made


def said(run: dict[str, Any]) -> str:
    return Path(run["workspace"], "resumed").read_text()


@pytest.mark.parametrize("adapter", PROTOCOLS)
def test_a_crash_does_not_end_a_conversation(team: Team, adapter: str) -> None:
    first, second = team.ok(team.start(adapter, "cut_off"))
    assert (first["end_reason"], second["resumes"]) == ("process_died", first["id"])
    assert said(second) == "s1"
    home = team.install.root / ".aipm-data" / "homes"
    assert not (home / first["id"]).exists(), "what has ended well needs no home"


@pytest.mark.parametrize("adapter", PROTOCOLS)
def test_a_conversation_that_is_lost_begins_anew(team: Team, adapter: str) -> None:
    runs = team.ok(team.start(adapter, "forgetful"))
    assert said(runs[-1]) == ""
    reasons = [run["end_reason"] for run in runs]
    refused = ["resume_refused"] if adapter == "claude" else []  # the others begin anew themselves
    assert reasons == ["process_died", *refused, "ok"]


def test_a_stop_does_not_end_a_conversation(team: Team) -> None:
    agent = team.start("claude", "stalled")
    (run,) = team.wait(agent, lambda runs: runs if runs and runs[0]["program_session"] else None)
    team.tool("stop_run", run_id=run["id"])
    team.wait(agent, lambda runs: runs[0]["ended_at"])
    team.tool("start_run", agent_id=agent)
    again = team.wait(agent, lambda runs: runs[1] if len(runs) == 2 else None)
    assert (again["resumes"], again["home"]) == (run["id"], run["home"])
    team.tool("stop_run", run_id=again["id"], kill=True)


def test_who_waits_for_its_account_is_parked_and_goes_on(team: Team) -> None:
    agent = team.start("claude", "used_up")
    (run,) = team.wait(agent, lambda runs: runs if runs and runs[0]["parked"] else None)
    assert (run["state"], run["waits_for"], run["evidence"]) == ("waiting", "quota", "exit")
    assert run["ended_at"] is None
    assert run["owner"] == ""
    assert [pid for pid, value in marked("AIPM_RUN_ID") if value == run["id"]] == []
    (same,) = team.ok(agent)
    assert (same["id"], said(same), same["parked"]) == (run["id"], "s1", 0)
    log = team.tool("read_run_log", run_id=run["id"])["lines"]
    assert [line["number"] for line in log] == list(range(1, len(log) + 1))


def test_a_parked_run_that_nobody_needs_any_more_ends(team: Team) -> None:
    agent = team.start("codex", "used_up")
    (run,) = team.wait(agent, lambda runs: runs if runs and runs[0]["parked"] else None)
    team.tool("move_task", task_id=run["task_id"], status="cancelled")
    ended = team.wait(agent, lambda runs: runs[0] if runs[0]["ended_at"] else None)
    assert ended["end_reason"] == "ok"
