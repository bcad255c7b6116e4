"""mcp-agent-mail: mail between agents, in SQLite and in a git repository (PyPI's 0.1.0, a fork)."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from benchmarks.sides.installing import python_with
from benchmarks.sides.side import TEXT, Side, Work
from benchmarks.wire.messages import Channel, Era, Message, tool

VERSION = "0.1.0"
PINNED = (f"mcp-agent-mail=={VERSION}", "fastmcp==2.13.0.2", "mcp==1.30.0", "sqlmodel==0.0.48")
AGENTS = ("BlueLake", "GreenHill")
QUIET = {
    "LLM_ENABLED": "false",
    "LOG_RICH_ENABLED": "false",
    "TOOLS_LOG_ENABLED": "false",
    "LOG_LEVEL": "ERROR",
    "FASTMCP_LOG_LEVEL": "ERROR",
    "HTTP_RBAC_ENABLED": "false",
}


class AgentMail(Side):
    """As it comes, but without its logs and without a model."""

    name = "agent-mail"
    path = "/mcp/"
    eras: tuple[Era, ...] = ("session",)
    stdio = False

    def prepare(self) -> str:
        self._python = python_with("agent-mail", *PINNED)
        return VERSION

    def command(self, place: Path, port: int | None) -> list[str]:
        where = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "error"]
        return [str(self._python), "-m", "mcp_agent_mail.http", *where]

    def environ(self, place: Path) -> dict[str, str]:
        return {
            **super().environ(place),
            **QUIET,
            "DATABASE_URL": f"sqlite+aiosqlite:///{place / 'mail.db'}",
            "STORAGE_ROOT": str(place / "archive"),
        }

    async def introduce(self, channel: Channel, place: Path) -> dict[str, str]:
        project = str(place / "project")
        await channel.ask(tool("ensure_project", human_key=project))
        for name in AGENTS:
            agent = {"name": name, "program": "bench", "model": "none"}
            await channel.ask(tool("register_agent", project_key=project, **agent))
        return {"project": project}

    def call(self, work: Work, number: int, keys: Mapping[str, str]) -> Message | None:
        sender, receiver = AGENTS[number % 2], AGENTS[(number + 1) % 2]
        if work == "first":
            return tool("health_check")
        project = keys["project"]
        if work == "read":
            return tool("fetch_inbox", project_key=project, agent_name=receiver, limit=1)
        if work in {"wait", "ring"}:
            return None
        mail = {"sender_name": sender, "to": [receiver], "subject": "s", "body_md": TEXT}
        return tool("send_message", project_key=project, **mail)

    def stored(self, place: Path) -> int:
        with closing(sqlite3.connect(place / "mail.db")) as database:
            return int(database.execute("select count(*) from messages").fetchone()[0])
