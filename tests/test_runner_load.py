"""Many claims, many runs at once, and a day on which there is nothing to do."""

from __future__ import annotations

import re
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from aipm_devkit.testing import running
from aipm_runner.plugin import SUPERVISOR, Runner
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_tasks.plugin import Tasks

from aipm_core import Tx
from tests.runner_team import RunnerTeam, forks, kill

MOST_BYTES_A_RUN = 15_000_000
HOURS = 24
SHELL = """
max_runs_per_account = 1000
[plugins.runner.programs.line]
command = ["/bin/sh", "-c", "{script}"]
"""


class Crowd(RunnerTeam):
    """Many agents, each with one task, whose program is a line of shell."""

    def __init__(self, root: Path, agents: int, script: str) -> None:
        super().__init__(root, 1, settings=SHELL.format(script=script), most=agents, retry=1e5)
        self.agents = [f"bob{number}" for number in range(agents)]
        path = self.root / ".aipm-data" / "aipm.db"
        with closing(sqlite3.connect(path, timeout=30)) as database, database:
            for name in self.agents:
                database.execute(
                    "insert into agents (id, name, kind, role, created_at, passkey_hash) "
                    "values (?, ?, 'ai', 'worker', '', '')",
                    (name, name),
                )
                database.execute("insert into project_agents values ('p', ?)", (name,))
                database.execute(
                    "insert into agent_programs (agent_id, program, workspace) "
                    "values (?, 'line', null)",
                    (name,),
                )


@pytest.mark.timeout(300)
def test_two_runners_and_two_hundred_claims(tmp_path: Path) -> None:
    """Every run once: what ends without success is not tried again within this test."""
    team = Crowd(tmp_path, 200, f"echo $AIPM_RUN_ID >> {tmp_path}/started")
    with team.up() as server, forks(team) as started:
        runners = [started.start("runner", "--json") for _ in range(2)]
        team.tasks(server, 200)
        over = "select count(*) from runs where ended_at is not null"
        team.wait(lambda: team.one(over) >= 200, 240)
        for runner in runners:
            kill(runner)
    runs = Counter((tmp_path / "started").read_text().split())
    assert len(runs) == 200
    assert set(runs.values()) == {1}
    assert team.one("select count(*) from runs") == 200
    assert team.one("select count(distinct agent_id) from runs") == 200
    assert len(team.rows("select distinct owner from runs")) == 2


@pytest.mark.timeout(300)
def test_fifty_runs_at_once_cost_little_memory(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    team = Crowd(tmp_path, 50, f"until [ -e {gate} ]; do sleep 0.2; done")
    with team.up() as server, forks(team) as started:
        runner = started.start("runner", "--json")
        team.wait(lambda: started.output.exists() and "ready" in started.output.read_text())
        before = resident_bytes(runner)
        team.tasks(server, 50)
        running = "select count(*) from runs where state = 'running'"
        team.wait(lambda: team.one(running) == 50, 200)
        assert (resident_bytes(runner) - before) / 50 < MOST_BYTES_A_RUN
        over = "select count(*) from runs where end_reason = 'ok'"
        gate.touch()
        team.wait(lambda: team.one(over) == 50)
        kill(runner)


def resident_bytes(process: int) -> int:
    """Return what a process and its launchers hold."""
    every = [process]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == process:
            every.append(int(stat.parent.name))
    found = 0
    for one in every:
        status = Path(f"/proc/{one}/status").read_text()
        rss = re.search(r"RssAnon:\s+(\d+) kB", status)
        found += int(rss[1]) * 1024 if rss else 0
    return found


async def test_on_an_idle_day_nothing_is_started(tmp_path: Path) -> None:
    """Work that nobody may begin is no work: backlog, blocked, done, other people's, paused."""
    now = [1_800_000_000.0]
    plugins = (Sessions, Tasks, Runner)
    settings = {"runner": {"programs": {"line": {"command": ["/bin/true"]}}}}
    async with running(
        *plugins, data_dir=tmp_path, clock=lambda: now[0], settings=settings
    ) as aipm:
        services, store = aipm.runtime.services, aipm.runtime.store
        administration = services.use(ADMINISTRATION)
        await administration.add_project("p", "p", None)

        async def fill(tx: Tx) -> None:
            await tx.run(
                "insert into agents (id, name, kind, role, created_at, passkey_hash) "
                "values ('ann', 'ann', 'ai', 'worker', '', '')"
            )
            await tx.run("insert into project_agents (project_id, agent_id) values ('p', 'ann')")
            await tx.run("insert into agent_programs (agent_id, program) values ('ann', 'line')")
            for number, status in enumerate(("backlog", "blocked", "done", "cancelled")):
                await tx.run(
                    "insert into tasks (id, project_id, title, description, status, priority, "
                    "assignee_id, approval_status, created_at, updated_at, rank, depth) "
                    "values (?, 'p', 't', '', ?, 'medium', 'ann', 'approved', '', '', 1, 0)",
                    *(f"tsk_{number}", status),
                )

        await store.write(fill)

        async def mcp_url() -> str:
            return "http://127.0.0.1:1/mcp"

        async with services.use(SUPERVISOR).running(mcp_url):
            for _ in range(HOURS * 6):
                now[0] += 600

                async def wake(tx: Tx) -> None:
                    tx.wake("runs", "sessions:p")

                await store.write(wake)
        rows = await store.all("select id from runs")
        assert rows == []
        assert time.time() < now[0]
