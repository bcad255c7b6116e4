"""Runs: how soon after the need a program starts, and what the runner holds for each.

``python -m benchmarks.runs [--quick]`` starts `aipm up` with fifty agents whose program is a shell
that waits, gives them one task after the other, then one each at once, and prints what it saw.
"""

import argparse
import json
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from aipm_devkit.program import Install, Server

from benchmarks.wire.load import percentile

PATIENCE_SECONDS = 300.0
CONFIG = """
[server]
port = 0
[plugins.runner]
max_runs = {agents}
max_runs_per_account = {agents}
[plugins.runner.programs.fake]
command = ["/bin/sh", "-c", "date +%s.%N >> {begun}; until [ -e {gate} ]; do sleep 0.2; done"]
"""


class Crowd:
    """A server and agents that begin to wait as soon as they have a task."""

    def __init__(self, root: Path, agents: int) -> None:
        self.begun, self.gate = root / "begun", root / "gate"
        self.begun.touch()
        toml = CONFIG.format(agents=agents, begun=self.begun, gate=self.gate)
        self.install = Install.make(root, toml)
        (root / "work").mkdir()
        self._git("init", "-q")
        self._git("commit", "-q", "--allow-empty", "-m", "first")
        self.install.run("project", "add", "p", "--dir", "work")
        mia = ("mia", "--project", "p", "--type", "human", "--role", "manager")
        self.install.run("agent", "add", *mia)
        self.token = self.install.json("token", "create", "--agent", "mia")["token"]
        self.agents = [f"a{number}" for number in range(agents)]

    def _git(self, *words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@x")
        subprocess.run(["git", *who, *words], cwd=self.install.root / "work", check=True)

    def rows(self, sql: str) -> list[Any]:
        """Ask the database itself."""
        with closing(sqlite3.connect(self.install.root / ".aipm-data" / "aipm.db")) as database:
            return database.execute(sql).fetchall()

    def has_begun(self, count: int) -> bool:
        """Return whether so many programs have begun."""
        return self.begun.read_text(encoding="utf-8").count("\n") >= count

    def wait(self, look: Callable[[], bool]) -> None:
        """Wait until something is to be seen."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not look():
            if time.monotonic() > deadline:
                raise TimeoutError("what was waited for did not come")
            time.sleep(0.01)


class Person:
    """Somebody who gives work over HTTP."""

    def __init__(self, server: Server, token: str) -> None:
        headers = {"authorization": f"Bearer {token}"}
        self._web = httpx.Client(base_url=server.url, headers=headers, timeout=60)

    def call(self, tool: str, **given: Any) -> None:
        """Call a tool."""
        body = {"project_id": "p", **given}
        self._web.post(f"/api/tools/{tool}", json=body).raise_for_status()

    def task(self, agent: str) -> float:
        """Give an agent a task; return when it was asked for."""
        asked = time.time()
        self.call("create_task", title="t", assignee_id=agent, status="todo")
        return asked


def resident_mb(process: int) -> float:
    """Return what a process and its children hold for themselves."""
    found = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text(encoding="utf-8")
        except OSError:
            continue
        own = re.search(rf"^(?:Pid|PPid):\s+{process}$", text, re.MULTILINE)
        held = re.search(r"RssAnon:\s+(\d+) kB", text)
        found += int(held[1]) if own and held else 0
    return found / 1024


def measure(root: Path, agents: int) -> dict[str, float]:
    """Return the latency of starts, one by one, and the memory of all at once."""
    crowd = Crowd(root, agents)
    with crowd.install.up() as server:
        person = Person(server, crowd.token)
        for agent in crowd.agents:
            person.call("add_agent", agent_id=agent, parent_id="mia", program="fake")
        before = resident_mb(server.process.pid)
        took: list[float] = []
        begun = time.monotonic()
        for number, agent in enumerate(crowd.agents):
            asked = person.task(agent)
            crowd.wait(partial(crowd.has_begun, number + 1))
            took.append(float(crowd.begun.read_text().split()[-1]) - asked)
        running = "select count(*) from runs where state in ('running', 'waiting')"
        crowd.wait(lambda: crowd.rows(running) == [(agents,)])
        held = resident_mb(server.process.pid) - before
        seconds = time.monotonic() - begun
        crowd.gate.touch()
        crowd.wait(lambda: crowd.rows(running) == [(0,)])
    return {
        "runs": agents,
        "start_p50_ms": percentile(took, 0.5) * 1000,
        "start_p99_ms": percentile(took, 0.99) * 1000,
        "mb_a_run": held / agents,
        "seconds_until_all_run": seconds,
    }


def main(arguments: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="five runs instead of fifty")
    parser.add_argument("--json", action="store_true", help="output for machines")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="aipm-runs-") as root:
        found = measure(Path(root), 5 if chosen.quick else 50)
    if chosen.json:
        sys.stdout.write(json.dumps(found) + "\n")
        return 0
    for name, value in found.items():
        sys.stdout.write(f"{name:24} {value:10.2f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
