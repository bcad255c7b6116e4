"""Keeps what a server acknowledged and refused, and checks it against store and files."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count
from pathlib import Path

from tests.agents import Agent

_numbers = count(1)
_PATIENCE = 30.0


@dataclass
class SentMessages:
    """Messages from ann to bob in project ``p``, each with a content of its own."""

    root: Path
    acknowledged: dict[str, str] = field(default_factory=dict[str, str])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    unknown: set[str] = field(default_factory=set[str])

    def say(self, agent: Agent) -> str:
        """Send one message; return ``ok``, the code of the refusal, or ``gone``."""
        content = f"message {next(_numbers)}"
        try:
            envelope = agent.call("send_message", target_agent_id="bob", content=content)
        except (OSError, HTTPException, ValueError):
            self.unknown.add(content)
            return "gone"
        if "result" in envelope:
            self.acknowledged[envelope["result"]["message_id"]] = content
            return "ok"
        code = str(envelope["error"]["code"])
        self.refused[content] = code
        return code

    def check(self) -> None:
        """Nothing lost, nothing doubled, nothing refused and yet stored: in store and files.

        Upkeep must have survived the fault too: in the end nothing waits in the outbox.
        """
        stored = self._stored()
        contents = Counter(stored.values())
        assert self.acknowledged.items() <= stored.items(), "lost in the store"
        assert not [content for content, times in contents.items() if times > 1], "doubled"
        assert not contents.keys() & self.refused.keys(), "refused and yet stored"
        assert contents.keys() <= {*self.acknowledged.values(), *self.unknown}
        for owner in ("ann", "bob"):
            assert self._caught_up(owner, stored) == list(stored), f"file of {owner}"
        _wait_until(lambda: self._outbox() == 0, "the outbox never emptied")

    def _stored(self) -> dict[str, str]:
        with closing(sqlite3.connect(self.root / ".aipm-data" / "aipm.db")) as connection:
            assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
            rows = connection.execute("select id, content from messages order by seq").fetchall()
        assert len(rows) == len(dict(rows))
        return dict(rows)

    def _outbox(self) -> int:
        with closing(sqlite3.connect(self.root / ".aipm-data" / "aipm.db")) as connection:
            return int(connection.execute("select count(*) from chat_outbox").fetchone()[0])

    def _caught_up(self, owner: str, stored: dict[str, str]) -> list[str]:
        """Return the ids in a chat file once it has as many lines as it should."""
        _wait_until(
            lambda: len(ids_in(self.root, owner)) >= len(stored), f"the file of {owner} lags"
        )
        return ids_in(self.root, owner)


def _wait_until(reached: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not reached():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.05)


def ids_in(root: Path, owner: str) -> list[str]:
    """Return the ids of the whole lines of a chat file, in order."""
    file = root / "work" / ".ai-pm" / "agents" / owner / "chat.jsonl"
    lines = file.read_bytes().split(b"\n") if file.exists() else []
    return [found for line in lines if (found := _id(line)) is not None]


def _id(line: bytes) -> str | None:
    try:
        return str(json.loads(line)["id"])
    except (ValueError, KeyError, TypeError):
        return None  # torn by a fault, or somebody's scribble
