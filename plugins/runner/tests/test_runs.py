"""Runs, with the real program: real processes, real git, a real server."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
import pytest
from aipm_devkit.program import Install, Server
from aipm_processes.api import marked

PATIENCE_SECONDS = 40.0
CONFIG = """
locale = "en"
[server]
port = 0
[plugins.runner]
retry_seconds = 0.2
linger_seconds = 1
stop_seconds = 1
[plugins.runner.programs.fake]
command = ["{python}", "{program}"]
environment = ["FAKE_SAYS"]
[plugins.runner.programs.gone]
command = ["/nowhere/at-all"]
[plugins.runner.programs.empty]
adapter = "command"
"""
REPORT = """
import http.client, json, os, sys, urllib.parse
def call(tool, **arguments):
    url = urllib.parse.urlsplit(os.environ["AIPM_MCP_URL"])
    wire = http.client.HTTPConnection(url.netloc, timeout=30)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}}
    wire.request("POST", url.path, json.dumps(body), {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "authorization": "Bearer " + os.environ["AIPM_SESSION_TOKEN"]})
    wire.getresponse().read()
    wire.close()
def begin():
    call("update_task_status", task_id=os.environ["AIPM_TASK_ID"], status="in_progress")
    call("get_next_action", timeout_seconds=5)
def report():
    begin()
    call("report_completed", result="success", summary="s")
"""


class Place:
    """An installation with a project in a git repository and one agent with a program."""

    def __init__(self, root: Path, program: str, name: str = "fake", git: bool = True) -> None:
        self.program = root / "fake.py"
        self.program.write_text(REPORT + program)
        toml = CONFIG.format(python=sys.executable, program=self.program)
        self.install = Install.make(root, toml)
        self.install.environ["AIPM_UI_TOKEN"] = "not-for-agents"
        self.repository = root / "work"
        self.repository.mkdir()
        if git:
            self.git("init", "-q", "-b", "main")
            (self.repository / "file.txt").write_text("old\n")
            self.git("add", "-A")
            self.git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first")
        self.install.run("project", "add", "p", "--dir", "work")
        self.install.run("agent", "add", "ann", "--project", "p", "--program", name)

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.repository, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def task(self, *more: str) -> str:
        about = ("--project", "p", "--title", "t", "--assignee", "ann", "--status", "todo")
        return str(self.install.json("task", "add", *about, *more)["id"])

    def runs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.install.json("runs", "list")
        return found

    def wait(self, look: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := look()):
            assert time.monotonic() < deadline, self.runs()
            time.sleep(0.1)
        return found

    def ended(self) -> dict[str, Any]:
        """Wait for the first run to end."""
        found = self.wait(lambda: [r for r in self.runs() if r["state"] == "ended"])
        return dict(found[-1])

    def running(self) -> dict[str, Any]:
        found = self.wait(lambda: [r for r in self.runs() if r["state"] == "running"])
        return dict(found[0])

    def log(self, run: dict[str, Any]) -> list[str]:
        return [line["text"] for line in self.install.json("runs", "log", run["id"])]


def processes(run_id: str) -> list[int]:
    return [pid for pid, value in marked("AIPM_RUN_ID") if value == run_id]


def test_a_task_is_worked_off_by_the_agents_program(tmp_path: Path) -> None:
    place = Place(
        tmp_path,
        "print('prompt: ' + sys.stdin.read().strip())\n"
        "print(json.dumps({k: v for k, v in os.environ.items()}))\n"
        "print('where: ' + os.getcwd())\n"
        "open('file.txt', 'w').write('new\\n'); open('made.txt', 'w').write('x\\n'); report()\n",
    )
    with place.install.up() as server:
        task = place.task()
        run = place.ended()
        assert (run["end_reason"], run["evidence"], run["task_id"]) == ("ok", "exit", task)
        assert place.install.json("task", "show", task)["status"] == "done"
        said, environment, where = place.log(run)
        assert "get_next_action" in said
        assert "aipm_st_" not in environment
        assert {name for name in json.loads(environment) if name.startswith("AIPM_")} == {
            *("AIPM_MCP_URL", "AIPM_SESSION_TOKEN", "AIPM_AGENT_ID", "AIPM_PROJECT_ID"),
            *("AIPM_PURPOSE", "AIPM_RUN_ID", "AIPM_TASK_ID"),
        }
        assert str(place.repository) not in where
        assert place.git("status", "--porcelain", "--", ":!.ai-pm") == ""
        assert (place.repository / "file.txt").read_text() == "old\n"
        assert place.git("show", f"refs/aipm/run/{run['id']}:file.txt") == "new\n"
        diff = place.install.json("runs", "diff", run["id"])
        assert [one["path"] for one in diff["files"]] == ["file.txt", "made.txt"]
        assert "+new" in place.install.run("runs", "diff", run["id"]).stdout
        _over_http(place, server, run)
        place.install.run("runs", "undo", run["id"])
        assert Path(run["workspace"], "file.txt").read_text() == "old\n"
        assert place.git("show", f"refs/aipm/undone/{run['id']}:made.txt") == "x\n"


def _over_http(place: Place, server: Server, run: dict[str, Any]) -> None:
    place.install.run("agent", "add", "mia", "--project", "p", "--type", "human")
    place.install.run("project", "add", "q")
    place.install.run("agent", "add", "eve", "--project", "q", "--type", "human")
    for person, code in (("mia", 200), ("eve", 404)):
        token = place.install.json("token", "create", "--agent", person)["token"]
        with httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {token}"}) as web:
            log = web.get(f"/api/runs/{run['id']}/log", params={"after": 1})
            diff = web.get(f"/api/runs/{run['id']}/diff")
            assert (log.status_code, diff.status_code) == (code, code)
            if code == 200:
                assert [line["number"] for line in log.json()["lines"]] == [2, 3]
                assert len(diff.json()["files"]) == 2
                assert web.get(f"/api/runs/{run['id']}/log?after=x").status_code == 400
                assert web.get(f"/api/runs/{run['id']}/log?wait=-1").status_code == 400
                waited = web.get(f"/api/runs/{run['id']}/log", params={"after": 99, "wait": 9})
                assert waited.json() == {"run_id": run["id"], "lines": [], "ended": True}
    assert httpx.get(f"{server.url}/api/runs/{run['id']}/log").status_code == 401


def test_a_program_that_hangs_after_its_report_is_ended_with_its_children(tmp_path: Path) -> None:
    place = Place(
        tmp_path,
        "import subprocess, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['setsid', 'sleep', '1000'])\n"
        "report(); time.sleep(1000)\n",
    )
    with place.install.up():
        place.task()
        run = place.ended()
        assert run["end_reason"] == "hung_after_result"
        assert processes(run["id"]) == []


def test_a_failing_program_is_tried_again_and_then_the_inbox_asks(tmp_path: Path) -> None:
    place = Place(tmp_path, "sys.exit(3)\n")
    with place.install.up():
        place.task()
        (item,) = place.wait(lambda: place.install.json("inbox"))
        runs = place.runs()
        assert [(r["end_reason"], r["exit_code"]) for r in runs] == [("process_failed", 3)] * 3
        assert (item["kind"], item["id"]) == ("run", runs[0]["id"])
        assert "code 3" in item["summary"]
        place.program.write_text(REPORT + "report()\n")
        place.install.run("approve", item["id"])
        assert place.wait(lambda: [r for r in place.runs() if r["end_reason"] == "ok"])
        assert place.install.json("inbox") == []


@pytest.mark.parametrize(
    ("program", "reason", "told"),
    [
        ("gone", "program_missing", "/nowhere/at-all"),
        ("empty", "config_missing", "no command"),
    ],
)
def test_what_cannot_start_says_so_once(
    tmp_path: Path, program: str, reason: str, told: str
) -> None:
    place = Place(tmp_path, "", program)
    with place.install.up():
        place.task()
        (item,) = place.wait(lambda: place.install.json("inbox"))
        (run,) = place.runs()
        assert run["end_reason"] == reason
        assert told in item["summary"]
        assert place.install.json("session", "list") == []


def test_the_first_program_of_all_is_given_while_the_server_runs(tmp_path: Path) -> None:
    place = Place(tmp_path, "report()", name="")
    with place.install.up():
        for _ in range(3):  # by then the runner has looked for programs and found none
            place.install.run("project", "list")
        place.install.run("agent", "edit", "ann", "--program", "fake")
        place.task()
        assert place.ended()["end_reason"] == "ok"


def test_a_person_stops_a_run(tmp_path: Path) -> None:
    place = Place(tmp_path, "import time\nbegin(); print('begun', flush=True); time.sleep(1000)\n")
    with place.install.up():
        place.task()
        run = place.running()
        stopped = place.install.json("runs", "stop", run["id"])
        assert stopped["end_reason"] == "stopped_by_person"
        assert processes(run["id"]) == []
        assert "already" in place.install.run("runs", "stop", run["id"], check=4).stderr
        assert [item["kind"] for item in place.install.json("inbox")] == ["run"]
        assert len(place.runs()) == 1


def test_kill_9_of_the_server_leaves_no_process_and_the_work_goes_on(tmp_path: Path) -> None:
    hang = "import time\nbegin(); open('half.txt', 'w').write('x'); time.sleep(1000)\n"
    place = Place(tmp_path, hang)
    with place.install.up() as server:
        place.task()
        run = place.running()
        place.wait(lambda: Path(str(place.runs()[0]["workspace"]), "half.txt").exists())
        os.kill(server.process.pid, SIGKILL)
        server.process.wait()
    place.wait(lambda: not processes(run["id"]))
    (lost,) = place.runs()
    assert (lost["state"], lost["end_reason"]) == ("ended", "runner_lost")
    assert place.git("show", f"refs/aipm/run/{run['id']}:half.txt") == "x"
    place.program.write_text(REPORT + "report()\n")
    with place.install.up():
        assert place.wait(lambda: [r for r in place.runs() if r["end_reason"] == "ok"])


def test_a_long_line_and_a_killed_program(tmp_path: Path) -> None:
    place = Place(
        tmp_path, "print('x' * 12_000_000, flush=True)\nos.kill(os.getpid(), 9)\n", git=False
    )
    with place.install.up():
        place.task()
        run = place.ended()
        assert (run["end_reason"], run["exit_code"]) == ("process_died", -9)
        (line,) = place.log(run)
        assert 30_000 < len(line) < 40_000
        assert "without git" in place.install.run("runs", "diff", run["id"], check=4).stderr


def test_the_script_adapter_works_off_a_backlog_and_nothing_starts_without_work(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path, "", "script")
    with place.install.up():
        assert place.runs() == []
        first = place.task()
        second = place.task("--depends-on", first)
        place.wait(lambda: place.install.json("task", "show", second)["status"] == "done")
        place.wait(lambda: all(r["state"] == "ended" for r in place.runs()))
        assert [r["task_id"] for r in place.runs()] == [second, first]


@pytest.fixture
def alone(tmp_path: Path) -> Place:
    return Place(tmp_path, "report()\n")


def test_bad_fields_of_an_agent_are_refused(alone: Place) -> None:
    run = alone.install.run
    for option, told in (
        ("--program=nothing", "there is no program 'nothing'"),
        ("--workspace=moon", "worktree, directory"),
        ("--budget=-1", "above 0"),
    ):
        assert told in run("agent", "edit", "ann", option, check=2).stderr
    assert "no agent 'bob'" in run("agent", "edit", "bob", "--program=fake", check=3).stderr
    run("agent", "add", "bob", "--project", "p", "--program=nothing", check=2)
    assert [a["id"] for a in alone.install.json("agent", "list")] == ["ann"]
