"""Two agents in a place of their own, for faults to happen to."""

import shutil
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aipm_devkit.program import Install, Server

from tests.agents import Agent, log_in
from tests.sent_messages import SentMessages

# A login that is killed half-way counts as a failed one for a minute, and we kill many.
SETTINGS = """
[plugins.file_chat]
sync_seconds = 0.1
retry_seconds = 0.2
[plugins.sessions]
failed_logins_per_minute = 1000
"""
DATABASE = ".aipm-data/aipm.db"
LOG = ".aipm-data/aipm.db-wal"
CHAT = "chat.jsonl"


@dataclass(frozen=True)
class Template:
    """An installation with a project and four agents, to be copied."""

    root: Path
    passkeys: dict[str, str]


@dataclass
class Team:
    """Ann, who talks to bob, in a place of their own."""

    install: Install
    passkeys: dict[str, str]
    sent_messages: SentMessages

    def ann(self, server: Server) -> Agent:
        return log_in(server.mcp, "ann", self.passkeys["ann"])

    def bob(self, server: Server) -> Agent:
        return log_in(server.mcp, "bob", self.passkeys["bob"])


def moved_in(template: Template, root: Path) -> Team:
    """Copy the template: a copy costs less than six commands."""
    shutil.copytree(template.root, root, ignore=shutil.ignore_patterns("*.bell"))
    (root / "work").mkdir(exist_ok=True)
    with closing(sqlite3.connect(root / DATABASE)) as connection, connection:
        connection.execute("update projects set directory = ?", (str(root / "work"),))
    return Team(Install(root), template.passkeys, SentMessages(root))
