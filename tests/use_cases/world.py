"""The world of the use cases: one server, its people, and agents that the runner starts."""

import json
import os
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from aipm_devkit.program import Install, Server
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.agents import Agent
from tests.shop import Person
from tools.use_cases_page import PLACE

PATIENCE_SECONDS = 60.0
SIZE: Any = {"width": 1200, "height": 760}
SETTINGS = """
locale = "en"
[plugins.runner]
max_runs = 12
retry_seconds = 0.2
linger_seconds = 2
stop_seconds = 1
[plugins.runner.programs.player]
command = ["{python}", "-I", "-S", "{player}", "{parts}"]
[plugins.runner.programs.other-player]
command = ["{python}", "-I", "-S", "{player}", "{parts}", "other"]
[plugins.runner.programs.broken]
command = ["{python}", "-I", "-S", "-c", "import sys; sys.exit('no key for the model')"]
"""
PLAYER = Path(__file__).with_name("player.py")


class World:
    """A server on which every use case has a project of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.parts = root / "parts"
        toml = SETTINGS.format(python=sys.executable, player=PLAYER, parts=self.parts)
        self.install = Install.make(root, toml)
        self.parts.mkdir()
        self.install.run("project", "add", "home")
        who = ("--type", "human", "--name", "Anna Berg", "--role", "manager")
        self.passkeys = {
            "anna": self.install.json("agent", "add", "anna", "--project", "home", *who)["passkey"]
        }
        self.server: Server
        self.anna: Person

    def open(self, server: Server) -> None:
        """Begin the day."""
        self.server = server
        self.anna = self.person("anna")

    def person(self, name: str) -> Person:
        """Log somebody in with their passkey."""
        nobody = Person(self.server.url, "")
        login = nobody.post("/api/login", {"agent_id": name, "passkey": self.passkeys[name]})
        return Person(self.server.url, login["token"])

    def rows(self, sql: str, *values: object) -> list[Any]:
        """Ask the store itself."""
        with closing(sqlite3.connect(self.root / ".aipm-data" / "aipm.db", timeout=30)) as store:
            return store.execute(sql, values).fetchall()


class Case:
    """One use case: its project, its agents, its page."""

    def __init__(self, world: World, browser: Browser, name: str) -> None:
        self.world = world
        self.name = name
        self.anna = world.anna
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.folder = self.project(name)

    def project(self, name: str) -> Path:
        """Make a project; return its directory."""
        folder = self.world.root / name
        git(self.world.root, "init", "-q", "-b", "main", name)
        who = ("-c", "user.name=anna", "-c", "user.email=anna@example.com")
        git(folder, *who, "commit", "-q", "--allow-empty", "-m", "first")
        self.anna.call("create_project", id=name, name=name, directory=str(folder))
        return folder

    def agent(self, name: str, *, task: str = "", chat: str = "", **fields: Any) -> str:
        """Add an agent whose program plays these parts; with ``program=""`` nobody starts it."""
        for purpose, part in (("task", task), ("chat", chat)):
            if part:
                file = self.world.parts / f"{name}.{purpose}.py"
                file.write_text(textwrap.dedent(part), encoding="utf-8")
        given = {"project_id": self.name, "parent_id": "anna", "program": "player", **fields}
        made = self.anna.call("add_agent", agent_id=name, **given)
        self.world.passkeys[name] = made["passkey"]
        return name

    def member(self, name: str, full: str, **fields: Any) -> Person:
        """Add a person and log them in."""
        given = {"project_id": self.name, "name": full, "type": "human", **fields}
        self.world.passkeys[name] = self.anna.call("add_agent", agent_id=name, **given)["passkey"]
        return self.world.person(name)

    def session(self, name: str, purpose: str) -> Agent:
        """Open a session of an agent that this test plays itself."""
        made = Agent(self.world.server.mcp)
        login = {"agent_id": name, "passkey": self.world.passkeys[name], "project_id": self.name}
        made.token = made.result("authenticate", **login, purpose=purpose)["session_token"]
        return made

    def task(self, title: str, assignee: str | None = None, **more: Any) -> str:
        """Make a task over the API."""
        given = {"project_id": self.name, "title": title, "status": "todo", **more}
        given |= {"assignee_id": assignee} if assignee else {}
        made: str = self.anna.call("create_task", **given)["task"]["id"]
        return made

    def records(self, view: str, project: str = "") -> list[dict[str, Any]]:
        """Return a view as the API has it now."""
        state = self.anna.get(f"/api/projects/{project or self.name}/state")
        return list(state["views"][view].values())

    def record(self, view: str, **wanted: Any) -> dict[str, Any]:
        """Wait for a record of a view with these fields, and return it."""

        def look() -> dict[str, Any] | None:
            has = (one for one in self.records(view) if wanted.items() <= one.items())
            return next(has, None)

        found: dict[str, Any] = self.wait(look)
        return found

    def wait(self, look: Callable[[], Any]) -> Any:
        """Wait until there is something to see."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (found := look()):
            assert time.monotonic() < deadline, self.story()
            time.sleep(0.05)
        return found

    def story(self) -> str:
        """Tell what has happened, for whoever reads a failure."""
        runs = self.records("runs")
        logs = [self.anna.get(f"/api/runs/{run['id']}/log")["lines"] for run in runs]
        told = [[run["agent_id"], run["state"], run["end_reason"], run["detail"]] for run in runs]
        lines = [[line["text"] for line in log][-8:] for log in logs]
        tasks = [[task["title"], task["status"]] for task in self.records("tasks")]
        return json.dumps({"runs": told, "logs": lines, "tasks": tasks}, ensure_ascii=False)

    def said(self, agent: str) -> list[tuple[str, str]]:
        """Return the messages of a member, each with its sender."""
        path = f"/api/projects/{self.name}/agents/{agent}/chat/messages?limit=200"
        return [(one["senderId"], one["content"]) for one in self.anna.get(path)["messages"]]

    def left(self, agent: str, name: str) -> str:
        """Return a file as the run of an agent has left it."""
        run = self.record("runs", agent_id=agent, purpose="task", state="ended")
        return git(self.folder, "show", f"refs/aipm/run/{run['id']}:{name}")

    def told(self, name: str) -> str:
        """Wait for what an agent tells this test, beside all that is aipm."""
        file = self.world.parts / name
        self.wait(file.exists)
        return file.read_text(encoding="utf-8")

    def tell(self, name: str) -> None:
        """Tell agents that wait for it to go on."""
        (self.world.parts / name).touch()

    def open(self, address: str = "board", who: str = "anna", **how: Any) -> Page:
        """Open the page as somebody who has signed in before."""
        token = self.anna.token if who == "anna" else self.world.person(who).token
        context = self._browser.new_context(
            locale="en", reduced_motion="reduce", viewport=SIZE, **how
        )
        self._contexts.append(context)
        person = {"id": who, "name": who, "role": "manager" if who == "anna" else "worker"}
        kept = json.dumps(json.dumps({"token": token, "person": person}))
        context.add_init_script(f"localStorage.setItem('aipm.signin', {kept});")
        page = context.new_page()
        page.goto(f"{self.world.server.url}/#/{self.name}/{address}")
        expect(page.locator(".pill.is-live").first).to_be_attached(timeout=30_000)
        return page

    def go(self, page: Page, address: str) -> Page:
        """Follow an address of this project on an open page."""
        page.goto(f"{self.world.server.url}/#/{self.name}/{address}")
        return page

    def close(self) -> None:
        """Close what was opened, and let nothing of this case run on."""
        if (place := os.environ.get(PLACE)) and self._contexts:
            file = Path(place) / f"use-case-{self.name}.jpg"
            self._contexts[0].pages[0].screenshot(path=file, type="jpeg", quality=55)
        for context in self._contexts:
            context.close()
        self.anna.call("pause_project", project_id=self.name)


def git(folder: Path, *words: str) -> str:
    """Run git in a directory."""
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def column(page: Page, name: str) -> Locator:
    """Return a column of the board."""
    return page.get_by_role("region", name=name, exact=True)


def card(page: Page, title: str, status: str | None = None) -> Locator:
    """Return the card of a task, in a column if one is named."""
    place = column(page, status) if status else page
    return place.get_by_role("article", name=title, exact=True)


def move(page: Page, title: str, status: str) -> None:
    """Move a card by its menu, as one does without a mouse."""
    page.get_by_role("button", name=f"Actions for {title}").click()
    page.get_by_role("menuitem", name=status).click()
