"""A runner on another machine: outgoing HTTP only, over a wire that breaks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from aipm_devkit.program import AIPM, Install, Server

from tests.cut_wire import CutWire
from tests.runner_team import PATIENCE_SECONDS, RunnerTeam, alive, kill

FAR = """
locale = "en"
[plugins.runner]
stop_seconds = 1
linger_seconds = 1
[plugins.runner.directories]
p = "{work}"
[plugins.runner.programs.fake]
command = ["{python}", "-I", "-S", "{program}"]
"""
OPEN_TASKS = "select count(*) from tasks where status not in ('done', 'cancelled')"
ALIVE = "select count(*) from runs where ended_at is null"


class Far:
    """Another machine: settings, a data directory and a clone of its own."""

    def __init__(self, team: RunnerTeam) -> None:
        self.team = team
        root = team.root / "far"
        self.work = root / "clone"
        toml = FAR.format(work=self.work, python=sys.executable, program=team.root / "fake.py")
        self.install = Install.make(root, toml)
        self.install.environ["AIPM_UI_TOKEN"] = team.token
        team.git("clone", "-q", str(team.root / "work"), str(self.work))

    @contextmanager
    def runner(self, url: str, *more: str) -> Iterator[subprocess.Popen[str]]:
        """Run ``aipm runner`` there until the block ends."""
        process = subprocess.Popen(
            [AIPM, "runner", "--json", "--server", url, *more],
            cwd=self.install.root,
            env=self.install.env(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            assert json.loads(line)["event"] == "ready"
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=PATIENCE_SECONDS)

    def all_done(self) -> None:
        """Wait until everything has been worked off and told."""
        self.team.wait(lambda: self.team.one(OPEN_TASKS) == 0)
        self.team.wait(lambda: self.team.one(ALIVE) == 0)

    def check(self) -> None:
        """Look for what is lost or doubled, in the clone."""
        home, self.team.root = self.team.root, self.install.root
        (self.install.root / "work").symlink_to(self.work)
        try:
            self.team.check()
        finally:
            self.team.root = home


def test_a_runner_elsewhere_works_off_a_backlog(tmp_path: Path) -> None:
    team = RunnerTeam(tmp_path)
    far = Far(team)
    with team.up() as server, far.runner(server.url):
        team.tasks(server, 6)
        far.all_done()
        runs = team.install.json("runs", "list")
        assert [(run["end_reason"], run["evidence"]) for run in runs] == [("ok", "exit")] * 6
        assert {run["machine"] for run in runs} != {None}
        assert {run["person"] for run in runs} == {"mia"}
        log = team.install.json("runs", "log", runs[0]["id"])
        assert [line["text"] for line in log] == ["begun"]
        diff = team.install.json("runs", "diff", runs[0]["id"])
        assert [file["path"] for file in diff["files"]] == ["edits.txt"]
        told = team.install.run("runs", "undo", runs[0]["id"], check=4).stderr
        assert "worked on the machine" in told
    far.check()
    assert not (tmp_path / ".aipm-data" / "worktrees").exists()


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_wire_that_breaks_delays_reports_and_loses_none(tmp_path: Path, where: str) -> None:
    """Every kind of request breaks, the first of each kind and many more."""
    team = RunnerTeam(tmp_path)
    far = Far(team)
    seen: dict[str, int] = {}

    def cuts(number: int, path: str) -> str | None:
        kind = path.rpartition("/")[2]
        if not path.startswith("/api/runner/"):
            return None  # the program's own calls: another matter
        seen[kind] = seen.get(kind, 0) + 1
        return where if seen[kind] % 2 else None

    with team.up() as server, CutWire(team.port, cuts) as wire:
        team.tasks(server, 6)
        with far.runner(f"http://127.0.0.1:{wire.port}"):
            far.all_done()
        assert seen.keys() == {"claim", "watch", "session", "place", "reports"}
        assert wire.cut > 5
        runs = team.install.json("runs", "list")
        assert [run["end_reason"] for run in runs] == ["ok"] * 6
        for run in runs:
            log = team.install.json("runs", "log", run["id"])
            assert [line["text"] for line in log] == ["begun"]
    far.check()


def test_a_runner_elsewhere_that_is_killed_tells_it_when_it_is_back(tmp_path: Path) -> None:
    hang = "open('half.txt', 'w').write('x')\nimport time\ntime.sleep(1000)\n"
    team = RunnerTeam(tmp_path, 1, program=hang)
    far = Far(team)
    running = "select 1 from runs where state = 'running'"
    with team.up() as server:
        team.tasks(server, 1)
        with far.runner(server.url) as process:
            team.wait(lambda: team.rows(running))
            (run,) = team.rows("select id, workspace from runs")
            team.wait(lambda: Path(run[1], "half.txt").exists())
            kill(process.pid)
            process.wait()
        team.wait(lambda: not alive({run[0]}), 5)
        team.wait(lambda: not team.rows(running), 10)
        (tmp_path / "fake.py").write_text("")
        with far.runner(server.url):
            lost = "select snapshot from runs where id = ? and end_reason = 'runner_lost'"
            team.wait(lambda: team.rows(lost, run[0]) not in ([], [(None,)]))
    show = ["git", "show", f"refs/aipm/run/{run[0]}:half.txt"]
    assert subprocess.check_output(show, cwd=far.work, text=True) == "x"


def test_a_person_stops_a_run_elsewhere(tmp_path: Path) -> None:
    team = RunnerTeam(tmp_path, 1, program="import time\ntime.sleep(1000)\n")
    far = Far(team)
    with team.up() as server, far.runner(server.url):
        team.tasks(server, 1)
        team.wait(lambda: team.rows("select 1 from runs where state = 'running'"))
        (run,) = team.install.json("runs", "list")
        stopped = team.install.json("runs", "stop", run["id"])
        assert stopped["end_reason"] == "stopped_by_person"
        assert alive({run["id"]}) == []


def caller(server: Server, token: str) -> httpx.Client:
    return httpx.Client(base_url=server.url, headers={"authorization": f"Bearer {token}"})


def test_only_who_may_run_an_agent_gets_its_work(tmp_path: Path) -> None:
    team = RunnerTeam(tmp_path, 1)
    add = ("agent", "add")
    team.install.run(*add, "eve", "--project", "p", "--type", "human")
    team.install.run("project", "add", "q")
    team.install.run(*add, "tom", "--project", "q", "--type", "human", "--role", "manager")
    webs: list[httpx.Client] = []
    ask = {"owner": "rnr_1", "machine": "m", "room": 5, "programs": ["fake"]}
    with team.up() as server:
        team.tasks(server, 1)
        for person in ("eve", "tom"):
            token = team.install.json("token", "create", "--agent", person)["token"]
            webs.append(caller(server, token))
            assert webs[-1].post("/api/runner/claim", json=ask).json() == {"runs": []}
        mine = caller(server, team.token)
        webs.append(mine)
        other = {**ask, "programs": ["something"]}
        assert mine.post("/api/runner/claim", json=other).json() == {"runs": []}
        under = {**ask, "under": "mia"}
        assert mine.post("/api/runner/claim", json=under).json() == {"runs": []}
        (given,) = mine.post("/api/runner/claim", json=ask).json()["runs"]
        again = mine.post("/api/runner/claim", json=ask).json()["runs"]
        assert [one["run"]["id"] for one in again] == [given["run"]["id"]]
        address = f"/api/runner/runs/{given['run']['id']}/session"
        assert webs[0].post(address, json={"owner": "rnr_1"}).status_code == 404
        assert mine.post(address, json={"owner": "rnr_2"}).status_code == 404
        first = mine.post(address, json={"owner": "rnr_1"}).json()
        second = mine.post(address, json={"owner": "rnr_1"}).json()
        assert first["token"] != second["token"]
        sessions = team.install.json("session", "list")
        assert [one["id"] for one in sessions] == [second["session_id"]]
        for web in webs:
            web.close()


@pytest.mark.parametrize(
    ("environ", "more", "code", "told"),
    [
        ({"AIPM_UI_TOKEN": ""}, (), 2, "AIPM_UI_TOKEN is not set"),
        ({"AIPM_UI_TOKEN": "aipm_ui_x"}, (), 4, "token"),
        ({}, ("--project", "nothing"), 3, "nothing"),
        ({}, ("--under", "nobody"), 3, "nobody"),
    ],
)
def test_what_a_runner_elsewhere_cannot_be_is_one_sentence(
    tmp_path: Path, environ: dict[str, str], more: tuple[str, ...], code: int, told: str
) -> None:
    team = RunnerTeam(tmp_path, 1)
    far = Far(team)
    far.install.environ |= environ
    with team.up() as server:
        done = far.install.run("runner", "--server", server.url, *more, check=code)
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
