"""A2A: an agent of the official a2a-sdk whose tasks are kept in SQLite."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from benchmarks.sides.installing import python_with
from benchmarks.sides.side import TEXT, Scripted, Work
from benchmarks.wire.messages import Era, Message

VERSION = "1.3.0"
PINNED = (f"a2a-sdk[http-server,sqlite]=={VERSION}", "uvicorn==0.54.0", "uvloop", "httptools")


class A2a(Scripted):
    """Not MCP: a message to an agent, over JSON-RPC."""

    name = "A2A"
    path = "/"
    eras: tuple[Era, ...] = ("plain",)
    stdio = False
    program = "a2a_agent"

    def prepare(self) -> str:
        self.python = python_with("a2a", *PINNED)
        return VERSION

    def call(self, work: Work, number: int, keys: Mapping[str, str]) -> Message | None:
        if work in {"wait", "ring"}:
            return None
        text = TEXT if work == "send" else "echo"
        message = {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]}
        return {"method": "SendMessage", "params": {"message": message}}

    def stored(self, place: Path) -> int:
        with closing(sqlite3.connect(place / "messages.db")) as database:
            return int(database.execute("select count(*) from tasks").fetchone()[0])
