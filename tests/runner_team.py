"""Agents whose program writes down what it does: so a test sees what was lost or doubled."""

from __future__ import annotations

import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
from aipm_devkit.program import Install, Server
from aipm_processes.api import marked

PATIENCE_SECONDS = 60.0
MARK = "AIPM_RUN_ID"
SETTINGS = """
locale = "en"
[server]
port = {port}
[plugins.runner]
in_server = {in_server}
max_runs = {agents}
retry_seconds = {retry}
linger_seconds = 1
stop_seconds = 1
{settings}
[plugins.runner.programs.fake]
command = ["{python}", "-I", "-S", "{program}"]
"""
# Every edit is first in the working copy, then in the journal: what the journal has must be there.
TOOLS = """
import fcntl, http.client, json, os, sys, time, urllib.parse
run, task = os.environ["AIPM_RUN_ID"], os.environ.get("AIPM_TASK_ID", "chat")
journal = {journal!r}
def note(*words):
    with open(journal, "a") as file:
        file.write(" ".join((run, task) + words) + "\\n")
lock = open({locks!r} + "/" + task, "w")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    note("doubled")
def call(tool, **arguments):
    url = urllib.parse.urlsplit(os.environ["AIPM_MCP_URL"])
    wire = http.client.HTTPConnection(url.netloc, timeout=30)
    body = {{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
             "params": {{"name": tool, "arguments": arguments}}}}
    wire.request("POST", url.path, json.dumps(body), {{
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "authorization": "Bearer " + os.environ["AIPM_SESSION_TOKEN"]}})
    answer = wire.getresponse().read().decode()
    wire.close()
    return json.loads(answer.strip().split("\\n")[-1].removeprefix("data: "))
def edit(word):
    with open("edits.txt", "a") as file:
        file.write(run + " " + word + "\\n")
        file.flush()
        os.fsync(file.fileno())
    note("edit", word)
note("start", str(os.getpid()))
def work():
    call("update_task_status", task_id=task, status="in_progress")
    call("get_next_action", timeout_seconds=5)
def report():
    answer = call("report_completed", result="success", summary="s")
    done = answer.get("result", {{}}).get("structuredContent", {{}}).get("result")
    note("report", "ok" if done else "refused")
"""
PROGRAM = (
    TOOLS
    + """
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
print("begun", flush=True)
edit("first")
work()
edit("second")
report()
"""
)


class RunnerTeam:
    """A server, agents with a program of their own, and a runner that dies again and again."""

    def __init__(
        self,
        root: Path,
        agents: int = 3,
        *,
        in_server: bool = False,
        program: str = PROGRAM,
        settings: str = "",
        most: int = 0,
        retry: float = 0.1,
    ) -> None:
        self.root = root
        self.port = _free_port()
        self.agents = [f"ann{number}" for number in range(agents)]
        self.journal = root / "journal.txt"
        self.journal.touch()
        locks = root / "locks"
        locks.mkdir()
        file = root / "fake.py"
        file.write_text(program.format(journal=str(self.journal), locks=str(locks)))
        toml = SETTINGS.format(
            python=sys.executable,
            program=file,
            agents=most or agents,
            in_server=str(in_server).lower(),
            port=self.port,
            settings=settings,
            retry=retry,
        )
        self.install = Install.make(root, toml)
        self._repository()
        self.install.run("project", "add", "p", "--dir", "work")
        self.install.run(
            "agent", "add", "mia", "--project", "p", "--type", "human", "--role", "manager"
        )
        self.token = str(self.install.json("token", "create", "--agent", "mia")["token"])
        for agent in self.agents:
            self.install.run("agent", "add", agent, "--project", "p", "--program", "fake")

    def up(self) -> AbstractContextManager[Server]:
        """Run the server on its own port, where a runner beside it finds it."""
        return self.install.up("--port", str(self.port))

    def _repository(self) -> None:
        (self.root / "work").mkdir()
        self.git("init", "-q", "-b", "main")
        (self.root / "work" / "edits.txt").write_text("")
        self.git("add", "-A")
        self.git("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first")

    def git(self, *words: str) -> str:
        """Run git in the project's directory."""
        done = subprocess.run(
            ["git", *words], cwd=self.root / "work", capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def tasks(self, server: Server, count: int) -> None:
        """Give the agents work, in turn, as a person does over HTTP."""
        headers = {"authorization": f"Bearer {self.token}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=30) as web:
            for number in range(count):
                agent = self.agents[number % len(self.agents)]
                body = {"project_id": "p", "title": "t", "assignee_id": agent, "status": "todo"}
                web.post("/api/tools/create_task", json=body).raise_for_status()

    def rows(self, sql: str, *values: object) -> list[Any]:
        """Ask the database itself."""
        path = self.root / ".aipm-data" / "aipm.db"
        with closing(sqlite3.connect(path, timeout=30)) as database:
            return database.execute(sql, values).fetchall()

    def one(self, sql: str, *values: object) -> Any:
        """Ask for one value."""
        return self.rows(sql, *values)[0][0]

    def wait(self, look: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> Any:
        """Wait until there is something to see."""
        deadline = time.monotonic() + seconds
        while not (found := look()):
            assert time.monotonic() < deadline, self.rows("select * from runs order by number")[-5:]
            time.sleep(0.02)
        return found

    def lines(self) -> list[list[str]]:
        """Return what the programs have written down, whole lines only."""
        text = self.journal.read_text()
        return [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]

    def check(self) -> None:
        """After everything has ended: nothing lost, nothing doubled."""
        lines = self.lines()
        assert [line for line in lines if line[2] == "doubled"] == []
        starts = [line[0] for line in lines if line[2] == "start"]
        assert len(starts) == len(set(starts)), "a run was started twice"
        reports = [line[1] for line in lines if line[2:] == ["report", "ok"]]
        assert len(reports) == len(set(reports)), "a task was done twice"
        for run, _, kind, *word in lines:
            if kind == "edit":
                saved = self.git("show", f"refs/aipm/run/{run}:edits.txt")
                assert f"{run} {word[0]}\n" in saved, f"an edit of {run} is lost"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Forks:
    """Starts the program quickly, again and again."""

    def __init__(self, team: RunnerTeam) -> None:
        self.output = team.root / "runner.log"
        environ = {**team.install.env(), "AIPM_TEST_OUTPUT": str(self.output)}
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("forking_program.py")],
            cwd=team.root,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._read() == "ready"

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def start(self, *words: str) -> int:
        """Start the program; return its process."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return int(self._read())

    def stop(self) -> None:
        """End what starts, not what was started."""
        self._process.communicate()


@contextmanager
def forks(team: RunnerTeam) -> Iterator[Forks]:
    """Have the program ready to be started."""
    made = Forks(team)
    try:
        yield made
    finally:
        made.stop()


def kill(process: int) -> None:
    """Kill a program at once, with nothing said."""
    os.kill(process, SIGKILL)


def alive(run_ids: set[str]) -> list[int]:
    """Return the processes that runs have left."""
    return [process for process, value in marked(MARK) if value in run_ids]


def moments(seed: int) -> Iterator[float]:
    """Say when to kill, without end: often while something begins, sometimes later."""
    chance = random.Random(seed)
    while True:
        yield chance.random() * chance.choice((0.2, 0.6, 1.2))
