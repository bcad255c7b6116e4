"""Tasks of nobody, in a project with a pool: offered to workers, and each goes to one."""

import json
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aipm_devkit.program import AIPM, Install

PATIENCE_SECONDS = 60.0
CONFIG = """
locale = "en"
[server]
port = 0
[plugins.runner]
in_server = false
max_runs = 8
"""
WORKERS = ("ann", "ben", "cem")


class Team:
    """A project with a pool: three workers, a chief and a person. Nobody is started yet."""

    def __init__(self, root: Path) -> None:
        self.install = Install.make(root, CONFIG)
        for words in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", "first")):
            who = ("-c", "user.name=x", "-c", "user.email=x@x")
            (root / "work").mkdir(exist_ok=True)
            subprocess.run(["git", *who, *words], cwd=root / "work", check=True)
        self.install.run("project", "add", "p", "--dir", "work", "--pool")
        mia = ("mia", "--project", "p", "--type", "human", "--role", "manager")
        self.install.run("agent", "add", *mia)
        self._token = self.install.json("token", "create", "--agent", "mia")["token"]
        self.url = ""

    def rows(self, sql: str) -> list[Any]:
        database = self.install.root / ".aipm-data" / "aipm.db"
        with closing(sqlite3.connect(database, timeout=30)) as wire:
            return wire.execute(sql).fetchall()

    def wait(self, look: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := look()):
            assert time.monotonic() < deadline, self.rows("select * from runs")
            time.sleep(0.05)
        return found

    def tool(self, name: str, **given: Any) -> Any:
        headers, body = {"authorization": f"Bearer {self._token}"}, {"project_id": "p", **given}
        reply = httpx.post(f"{self.url}/api/tools/{name}", headers=headers, json=body, timeout=30)
        return reply.raise_for_status().json()["result"]

    def add(self, count: int = 1) -> None:
        for _ in range(count):
            self.tool("create_task", title="t", status="todo")

    @contextmanager
    def runner(self) -> Iterator[None]:
        """Start agents from a process beside the server."""
        environ = {**self.install.env(), "AIPM_SERVER__PORT": self.url.rpartition(":")[2]}
        command = [str(AIPM), "runner", "--json"]
        with subprocess.Popen(
            command, cwd=self.install.root, env=environ, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["event"] == "ready"
            yield
            process.terminate()


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    made = Team(tmp_path_factory.mktemp("pool"))
    with made.install.up() as server:
        made.url = server.url
        for name in WORKERS:
            made.tool("add_agent", agent_id=name, parent_id="mia", program="script")
        chief = {"role": "manager", "parent_id": "mia", "program": "script"}
        made.tool("add_agent", agent_id="chief", **chief)
        yield made


def test_the_need_shows_who_may_take_it_and_a_claim_takes_it(team: Team) -> None:
    team.add()
    needed = team.install.json("work")
    assert {one["agent_id"] for one in needed} == set(WORKERS), "who plans takes nothing"
    assert all(one["reasons"][0].startswith("pool tsk_") for one in needed)
    claimed = team.install.json("work", "--claim", "--supervisor", "me")
    assert len(claimed) == 1, "the others have nothing to be started for any more"
    ((assignee, task),) = team.rows("select assignee_id, id from tasks")
    assert assignee == claimed[0]["agent_id"]
    team.tool("move_task", task_id=task, status="cancelled")


def test_without_a_pool_nobody_takes_anything(team: Team) -> None:
    assert team.tool("edit_project", pool=False)["project"]["pool"] is False
    team.add()
    assert team.install.json("work") == []
    team.install.run("project", "edit", "p", "--pool")
    assert len(team.install.json("work")) == len(WORKERS)


def test_every_task_of_the_pool_goes_to_one_worker_though_two_runners_look(team: Team) -> None:
    with team.runner(), team.runner():
        team.add(6)
        done = "select count(*) from tasks where status = 'done'"
        team.wait(lambda: team.rows(done) == [(7,)])
        team.wait(lambda: not team.rows("select 1 from runs where ended_at is null"))
    assert team.rows("select count(*), count(distinct task_id) from runs") == [(7, 7)]
    takers = {name for (name,) in team.rows("select agent_id from runs")}
    assert takers <= set(WORKERS)
    assert len(takers) > 1, "nobody did everything alone"
