"""A server that can be told where to die, and everybody who works with it."""

import json
import os
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from signal import SIGKILL
from typing import Any
from urllib.parse import urlsplit

import anyio
from aipm_devkit.program import Install, Server
from aipm_devkit.testing import running
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.plugin import UiGateway

from tests.agents import Agent, log_in
from tests.write_paths import WritePath

PATIENCE = 30.0
SCRIPT = [
    [{"tool": "file:list", "args": {"path": "."}}, {"text": "one two three", "stream": True}],
    [{"wait_ms": 7000}, {"text": "late"}],
]
"""What the agent of a user interface does with its first input and its second."""
HUMAN, MODEL, BOT = "hana", "modell", "bot"
_PLUGIN = Path(__file__).parents[1] / "crash_plugin"
SETTINGS = """
[server]
port = 0
[plugins.crash]
enabled = true
[plugins.file_chat]
sync_seconds = 0.1
retry_seconds = 0.2
[plugins.ui_gateway]
sweep_seconds = 0.5
keep_events_per_session = 1000
[plugins.tasks]
lease_seconds = 16
[plugins.agent_loop]
script = "script.json"
[plugins.policy]
confirmation_seconds = 20
elicitation = true
[[plugins.policy.rules]]
tool = "broadcast_message"
purpose = "chat"
agent = "q*"
decision = "REQUIRE_USER_CONFIRMATION"
level = "INFO"
elicitation = true
[[plugins.policy.rules]]
tool = "list_tasks"
agent = "d*"
decision = "DENY"
[[plugins.policy.rules]]
tool = "file:read"
decision = "REQUIRE_USER_CONFIRMATION"
"""


class Gone(Exception):
    """The server did not answer."""


class CrashServer:
    """One installation for many crashes."""

    def __init__(self, root: Path) -> None:
        self.install = Install.make(root, SETTINGS)
        self._orders, self._seen = root / "orders.json", root / "seen.txt"
        self._stack = ExitStack()
        self._server: Server | None = None
        self.resting = False
        """Whether nobody is told to die."""
        self.passkey = self.token = ""
        (root / "script.json").write_text(json.dumps(SCRIPT))
        anyio.run(self._set_up)
        self.install.environ |= {
            "PYTHONPATH": os.pathsep.join([str(_PLUGIN), os.environ.get("PYTHONPATH", "")]),
            "CRASH_ORDERS": str(self._orders),
            "CRASH_SEEN": str(self._seen),
        }
        assert self.server  # makes the tables of the other plugins

    async def _set_up(self) -> None:
        root = self.install.root
        async with running(Sessions, UiGateway, data_dir=root / ".aipm-data") as aipm:
            administration = aipm.runtime.services.use(ADMINISTRATION)
            await administration.add_project("p", "p", root / "work")
            human: Any = {"name": "x", "kind": "human", "role": "manager", "parent": None}
            await administration.add_agent(HUMAN, project_id="p", **human)
            model: Any = {"name": "x", "kind": "ai", "role": "worker", "parent": HUMAN}
            _, self.passkey = await administration.add_agent(MODEL, project_id="p", **model)
            await administration.add_agent(BOT, project_id="p", **model)
            self.token = (await administration.add_token(HUMAN))["token"]

    @property
    def server(self) -> Server:
        """The running server; started if there is none."""
        if self._server is None:
            self._server = self._stack.enter_context(self.install.up())
        return self._server

    def stop(self) -> None:
        """End the server as a person does."""
        self._stack.close()
        self._server = None

    def new_agent(self, name: str, parent: str | None = None, role: str = "worker") -> str:
        """Add an agent with the one passkey all agents have here: hashing one takes a while."""
        self.change(
            "insert into agents (id, name, kind, role, parent_id, passkey_hash, created_at) "
            "select ?, ?, kind, ?, ?, passkey_hash, created_at from agents where id = ?",
            *(name, name, role, parent, MODEL),
        )
        self.change("insert into project_agents values ('p', ?)", name)
        return name

    def log_in(self, agent: str, purpose: str) -> str:
        """Open a session; return its token, which outlives the server."""
        token = log_in(self.server.mcp, agent, self.passkey, purpose).token
        assert token
        return token

    def call(self, token: str | None, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; raises ``Gone``."""
        try:
            return Agent(self.server.mcp, token).call(tool, **arguments)
        except (OSError, HTTPException, ValueError) as error:
            raise Gone from error

    def http(self, method: str, path: str, body: object = None) -> Any:
        """Ask as the human; raises ``Gone``."""
        connection = HTTPConnection(urlsplit(self.server.url).netloc, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self.token}", "content-type": "application/json"}
        try:
            connection.request(method, path, json.dumps(body) if body else None, headers)
            text = connection.getresponse().read().decode()
            return json.loads(text) if text.startswith(("{", "[")) else text
        except (OSError, HTTPException, ValueError) as error:
            raise Gone from error
        finally:
            connection.close()

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``aipm … --json``; the code of its exit is for the caller to judge."""
        return self.install.run(*arguments, "--json", check=None)

    def all(self, sql: str, *params: object) -> tuple[tuple[Any, ...], ...]:
        """Read from the database, whether a server runs or not."""
        with closing(self._connect()) as connection:
            return tuple(connection.execute(sql, params).fetchall())

    def one(self, sql: str, *params: object) -> Any:
        """Read one value."""
        rows = self.all(sql, *params)
        return rows[0][0] if rows else None

    def change(self, sql: str, *params: object) -> None:
        """Change the database behind the server's back: time passes, mostly."""
        with closing(self._connect()) as connection, connection:
            connection.execute(sql, params)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.install.root / ".aipm-data" / "aipm.db", timeout=PATIENCE)

    def arm(self, path: WritePath, moment: str, kind: str) -> None:
        """Say where the next process that comes by shall die."""
        orders: dict[str, Any] = {"module": path.module, "function": path.function, "kind": kind}
        orders |= {"first": path.first, "last": path.last, "moment": moment}
        text = self._orders.with_suffix(".new")
        text.write_text(json.dumps(orders))
        text.replace(self._orders)
        self.resting = False

    def disarm(self) -> None:
        """Let everybody live from now on."""
        self.resting = True
        self._orders.unlink(missing_ok=True)

    def start_to_crash(self) -> None:
        """Start a server that may die before it is ready."""
        with suppress(AssertionError):
            assert self.server

    def await_crash(self, *others: int) -> None:
        """Wait for the server to be killed, by itself and not by us, or to end with a code."""
        if self._server is None:
            return  # it did not even come up
        code = self._server.process.wait(PATIENCE)
        assert code in (-SIGKILL, *others), code
        self.stop()

    def writers(self) -> set[str]:
        """Return every function that was seen writing."""
        return set(self._seen.read_text().split())

    def wait_for(self, look: Callable[[], Any], wanted: Any) -> None:
        """Wait until the store says so; nobody helps."""
        deadline = time.monotonic() + PATIENCE
        while (found := look()) != wanted:
            assert time.monotonic() < deadline, f"{found!r} never became {wanted!r}"
            time.sleep(0.05)
