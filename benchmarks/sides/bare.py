"""Bare servers: FastMCP and the official SDK with four tools of a few lines each."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from benchmarks.sides.installing import python_with
from benchmarks.sides.side import TEXT, Scripted, Work
from benchmarks.wire.messages import Message, tool

FASTMCP = "4.1.2"
TOOLS = {"first": "nothing", "read": "nothing", "wait": "wait", "ring": "ring"}


class Bare(Scripted):
    """No sessions, no checks, no plugins."""

    def call(self, work: Work, number: int, keys: Mapping[str, str]) -> Message | None:
        return tool("send", text=TEXT) if work == "send" else tool(TOOLS[work])

    def stored(self, place: Path) -> int:
        with closing(sqlite3.connect(place / "messages.db")) as database:
            return int(database.execute("select count(*) from messages").fetchone()[0])


class Sdk(Bare):
    """The low-level server of the official SDK, the one that aipm builds on."""

    name = "MCP SDK"
    program = "lowlevel"

    def prepare(self) -> str:
        return version("mcp")


class FastMcp(Bare):
    """FastMCP, in an environment of its own."""

    name = "FastMCP"
    program = "fast"

    def prepare(self) -> str:
        self.python = python_with("fastmcp", f"fastmcp=={FASTMCP}", "uvloop", "httptools")
        return FASTMCP
