"""The programs' own tools pass the road of every call: with the real server and a fake program."""

import json
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from aipm_devkit.program import Install
from aipm_devkit.testing import TASK, running
from aipm_processes.api import marked
from aipm_runner.api import Answer
from aipm_runner.config import RunnerConfig
from aipm_runner.conformance.trial import FAKE
from aipm_runner.guard import NativeGuard
from aipm_runner.outbox import Outbox
from aipm_runner.plugin import Runner
from aipm_runner.remote_records import RemoteRecords
from aipm_runner.runs import Runs
from aipm_runner.server_client import RefusedError, UnreachableError
from aipm_sessions.plugin import Sessions

from aipm_core import Authorizer, Call, Plugin, Stage, hookimpl

PATIENCE_SECONDS = 60.0
ADAPTERS = {"claude": "stream-json", "codex": "app-server", "acp": "acp"}
CONFIG = """
locale = "en"
[server]
port = 0
[plugins.runner]
retry_seconds = 0.2
linger_seconds = 1
stop_seconds = 1
start_seconds = 20
max_attempts = 1
{runner}
[plugins.runner.programs.fake]
adapter = "{adapter}"
command = {command}
{more}
"""
ASK = """
[[plugins.policy.rules]]
tool = "native:Bash"
arguments = { command = "touch *" }
decision = "REQUIRE_USER_CONFIRMATION"
"""
DENY = ASK.replace("REQUIRE_USER_CONFIRMATION", "DENY") + 'message = "hands off"\n'


class Place:
    """An installation whose agent is the fake program behind a real adapter."""

    def __init__(
        self,
        root: Path,
        scenario: str,
        adapter: str = "claude",
        more: str = "",
        program: str = "fake",
        runner: str = "",
    ) -> None:
        command = json.dumps([*FAKE, ADAPTERS[adapter], scenario])
        toml = CONFIG.format(adapter=adapter, command=command, more=more, runner=runner)
        self.install = Install.make(root, toml)
        (root / "work").mkdir()
        self.install.run("project", "add", "p", "--dir", "work")
        self.install.run("agent", "add", "ann", "--project", "p", "--program", program)
        self.install.run("agent", "add", "mia", "--project", "p", "--type", "human")
        self.ran = root / "work" / "ran"

    def task(self) -> str:
        about = ("--project", "p", "--title", "t", "--assignee", "ann", "--status", "in_progress")
        return str(self.install.json("task", "add", *about)["id"])

    def wait(self, look: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := look()):
            assert time.monotonic() < deadline, self.rows("select * from runs")
            time.sleep(0.1)
        return found

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Look into the store; asking the program each time would take a second."""
        database = self.install.root / ".aipm-data" / "aipm.db"
        with closing(sqlite3.connect(database)) as wire:
            wire.row_factory = sqlite3.Row
            return [dict(row) for row in wire.execute(query)]

    def ended(self) -> dict[str, Any]:
        self.wait(lambda: self.rows("select 1 from runs where state = 'ended'"))
        return dict(self.install.json("runs", "list")[-1])

    def log(self, run: dict[str, Any]) -> str:
        return "\n".join(line["text"] for line in self.install.json("runs", "log", run["id"]))

    def decided(self) -> list[tuple[str, str]]:
        entries = self.install.json("audit", "list")
        return [(e["decision"], e["outcome"]) for e in entries if e["tool"].startswith("native:")]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_what_nothing_forbids_runs_and_is_written_down(tmp_path: Path, adapter: str) -> None:
    place = Place(tmp_path, "work", adapter)
    with place.install.up():
        place.task()
        run = place.ended()
    assert (run["end_reason"], run["evidence"], run["tokens"]) == ("ok", "stream", 100)
    assert run["guarded"] is (adapter != "acp")
    assert place.ran.exists()
    assert place.decided() == [("ALLOW", "allowed")]
    assert list((tmp_path / ".aipm-data" / "homes").iterdir()) == []


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_rule_keeps_a_native_call_from_running(tmp_path: Path, adapter: str) -> None:
    place = Place(tmp_path, "work", adapter, DENY)
    with place.install.up():
        place.task()
        run = place.ended()
        assert "hands off" in place.log(run)
    assert not place.ran.exists()
    assert ("DENY", "denied") in place.decided()


@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_a_person_decides_about_a_native_call(tmp_path: Path, answer: str) -> None:
    place = Place(tmp_path, "work", "codex", ASK)
    with place.install.up():
        place.task()
        (asked,) = place.wait(lambda: place.rows("select id from confirmations"))
        assert not place.ran.exists()
        assert [item["id"] for item in place.install.json("inbox")] == [asked["id"]]
        place.install.run(answer, asked["id"])
        run = place.ended()
    assert run["end_reason"] == "ok"
    assert place.ran.exists() is (answer == "approve")


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_nothing_runs_while_an_interrupt_is_unread(tmp_path: Path, adapter: str) -> None:
    place = Place(tmp_path, "work", adapter)
    place.install.run(
        *("notify", "ann", "--project", "p", "--type", "interrupt", "--action", "pause"),
        *("--message", "stop"),
    )
    with place.install.up():
        place.task()
        run = place.ended()
        assert "get_notifications()" in place.log(run)
    assert not place.ran.exists()
    if adapter == "acp":  # it has no place for a reason: that comes with a further prompt
        assert "get_notifications()" in (tmp_path / "work" / "told").read_text()


def test_a_tool_that_no_rule_knows_never_runs(tmp_path: Path) -> None:
    place = Place(tmp_path, "unknown_tool")
    with place.install.up():
        place.task()
        run = place.ended()
        assert "no rule knows this tool" in place.log(run)
    assert not place.ran.exists()


class Broken(Plugin):
    """A check that cannot be made."""

    @hookimpl
    def aipm_authorizers(self) -> list[Authorizer]:
        async def check(call: Call) -> None:
            raise RuntimeError("out of order")

        return [Authorizer(name="broken", check=check, stage=Stage.CONSENT)]


@pytest.mark.parametrize("broken", [True, False])
async def test_a_check_that_fails_means_no(broken: bool) -> None:
    async with running(Sessions, Runner, *([Broken] if broken else [])) as aipm:
        plugin: Any = aipm.runtime.manager.get_plugin("runner")
        guard = NativeGuard(plugin.ctx)
        assert isinstance(plugin.ctx.config, RunnerConfig)
        answer = await guard.ask(TASK, "Bash", {"command": "touch x"})
        assert answer.allowed is not broken
        assert bool(answer.text) is broken
        assert not (await guard.ask(TASK, "Teleport", {})).allowed


class Unreachable:
    """A server that does not answer, or says no."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.insisted = False

    async def ask(self, *_: object) -> Any:
        raise self.error

    async def insist(self, *_: object) -> Any:
        self.insisted = True
        raise self.error


@pytest.mark.parametrize(
    ("setting", "tool", "allowed"),
    [
        ("deny", "Read", False),
        ("allow-reads", "Read", True),
        ("allow-reads", "Search", True),
        ("allow-reads", "Bash", False),
        ("allow-reads", "Write", False),
        ("allow-reads", "WebFetch", False),
    ],
)
async def test_without_a_judge_at_most_reading_is_allowed(
    setting: str, tool: str, allowed: bool
) -> None:
    async with running(Sessions, Runner, runner={"guard_on_error": setting}) as aipm:
        plugin: Any = aipm.runtime.manager.get_plugin("runner")
        guard = NativeGuard(plugin.ctx)
        answer = guard.unjudged(tool)
        assert answer.allowed is allowed
        assert bool(answer.text) is not allowed
        away: Any = Unreachable(UnreachableError("gone"))
        records = RemoteRecords(plugin.ctx, away, Outbox(Runs(plugin.ctx)), "rnr_1")
        assert (await records.judge("run_1", tool, {})).allowed is allowed
        assert away.insisted is not allowed  # everything else waits until there is an answer
        refusing: Any = Unreachable(RefusedError(404, "run_not_found", "no such run"))
        records = RemoteRecords(plugin.ctx, refusing, Outbox(Runs(plugin.ctx)), "rnr_1")
        assert await records.judge("run_1", tool, {}) == Answer(allowed=False, text="no such run")


def test_a_program_that_falls_silent_or_deaf_is_ended(tmp_path: Path) -> None:
    for scenario, reason in (("stubborn", "ok"), ("stalled", "no_progress"), ("orphan", "ok")):
        root = tmp_path / scenario
        root.mkdir()
        place = Place(root, scenario, runner="silent_seconds = 2")
        with place.install.up():
            place.task()
            run = place.ended()
        assert run["end_reason"] == reason, scenario
        assert [pid for pid, value in marked("AIPM_RUN_ID") if value == run["id"]] == []


@pytest.mark.parametrize("scenario", ["not_logged_in", "model_unavailable"])
def test_a_failure_says_in_one_sentence_what_to_do(tmp_path: Path, scenario: str) -> None:
    place = Place(tmp_path, scenario)
    with place.install.up():
        place.task()
        run = place.ended()
    assert run["end_reason"] == scenario
    assert run["advice"]
    assert "(the end: " in run["detail"]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_program_gets_a_home_of_its_own_and_no_secret(tmp_path: Path, adapter: str) -> None:
    place = Place(tmp_path, "telling", adapter)
    place.install.environ |= {"AIPM_UI_TOKEN": "a-secret", "GITHUB_TOKEN": "a-secret"}
    with place.install.up():
        place.task()
        run = place.ended()
        told = json.loads((tmp_path / "work" / "told.json").read_text())
    assert run["end_reason"] == "ok"
    environment = told["environment"]
    assert "aipm_st_" not in json.dumps(told)
    assert "a-secret" not in json.dumps(told)
    assert environment["HOME"].endswith(f"homes/{run['id']}")
    assert environment["AIPM_RUN_ID"] == run["id"]
    assert set(told["modes"].values()) <= {"600", "700"}
    assert not Path(environment["HOME"]).exists()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_login_is_used_only_if_the_settings_say_so(tmp_path: Path, allowed: bool) -> None:
    person = tmp_path / "person"
    (person / ".claude").mkdir(parents=True)
    (person / ".claude" / ".credentials.json").write_text("{}")
    probe = tmp_path / "claude"
    probe.write_text(
        f"#!{sys.executable}\nimport os, pathlib\n"
        "found = pathlib.Path(os.environ['HOME'], '.claude/.credentials.json').exists()\n"
        f"pathlib.Path({str(tmp_path / 'seen')!r}).write_text(str(found))\n"
    )
    probe.chmod(probe.stat().st_mode | stat.S_IXUSR)
    more = f"[plugins.runner.programs.claude]\nadapter = 'claude'\nlogin = {str(allowed).lower()}\n"
    place = Place(tmp_path, "work", more=more if allowed else "", program="claude")
    place.install.environ |= {
        "HOME": str(person),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    with place.install.up():
        place.task()
        run = place.ended()
    assert (tmp_path / "seen").read_text() == str(allowed)
    assert run["end_reason"] == "ok" or run["exit_code"] is not None


def test_a_bare_program_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    place = Place(tmp_path, "work", program="codex")
    place.install.environ["PATH"] = "/usr/bin:/bin"
    with place.install.up():
        place.task()
        run = place.ended()
        (item,) = place.install.json("inbox")
    assert run["end_reason"] == "program_missing"
    assert "there is no executable codex" in item["summary"]
    homes = tmp_path / ".aipm-data" / "homes"
    assert not homes.exists() or list(homes.iterdir()) == []
