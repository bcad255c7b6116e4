"""What a side of the comparison is, and a running server of it."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.sides import processes
from benchmarks.wire.http import Connection
from benchmarks.wire.load import Caller, Load
from benchmarks.wire.messages import Channel, Era, Message
from benchmarks.wire.stdio import Pipe

Work = Literal["first", "read", "send", "wait", "ring"]
ROOT = Path(__file__).resolve().parents[2]
TEXT = "仕様を確認しました。the second point needs a test. " * 6  # of every message sent


class Side:
    """A kind of server; subclasses say how it is had, started and asked."""

    name = ""
    path = "/mcp"
    eras: tuple[Era, ...] = ("session", "modern")
    http = True
    stdio = True

    def prepare(self) -> str:
        """Install what is missing; return the version."""
        raise NotImplementedError

    def furnish(self, place: Path) -> None:
        """Write what must be there before the start."""

    def command(self, place: Path, port: int | None) -> list[str]:
        """Return the command line; without a port the server speaks over stdio."""
        raise NotImplementedError

    def environ(self, place: Path) -> dict[str, str]:
        """Return the environment, in which a server finds nothing but its own."""
        kept = {k: v for k, v in os.environ.items() if k in {"PATH", "LANG", "LC_ALL", "TMPDIR"}}
        return {**kept, "HOME": str(place)}

    async def introduce(self, channel: Channel, place: Path) -> dict[str, str]:
        """Log in; return what the calls need."""
        return {}

    def call(self, work: Work, number: int, keys: Mapping[str, str]) -> Message | None:
        """Return the call that does this work for this client; None if the side has none."""
        raise NotImplementedError

    def calls(self, work: Work, number: int, keys: Mapping[str, str]) -> list[Message]:
        """Return the calls that a client makes in turns."""
        message = self.call(work, number, keys)
        return [] if message is None else [message]

    def stored(self, place: Path) -> int:
        """Return how many messages are in the store now."""
        raise NotImplementedError

    def audit(self, place: Path, before: int, rounds: list[Load]) -> tuple[int, int]:
        """Return how many messages were acknowledged, and how many have come into the store."""
        return sum(len(one.latencies) for one in rounds), self.stored(place) - before


class Scripted(Side):
    """A server in this repository, run by the Python of a library."""

    python = Path(sys.executable)
    program = ""

    def command(self, place: Path, port: int | None) -> list[str]:
        where = "stdio" if port is None else str(port)
        module = f"benchmarks.sides.programs.{self.program}"
        return [str(self.python), "-m", module, where, str(place / "messages.db")]

    def environ(self, place: Path) -> dict[str, str]:
        return {**super().environ(place), "PYTHONPATH": str(ROOT)}


@dataclass
class Server:
    """A running server."""

    side: Side
    place: Path
    pid: int
    keys: Mapping[str, str]
    url: str = ""
    pipe: Pipe | None = None

    async def channel(self, era: Era | None = None) -> Channel:
        """Return a way to it, opened."""
        if self.pipe is not None:
            return self.pipe
        return await Connection(self.url, era or self.side.eras[0]).open()

    async def caller(self, work: Work, number: int, era: Era | None = None) -> Caller:
        """Return a client that does this work."""
        messages = self.side.calls(work, number, self.keys)
        channel = await self.channel(era)
        return Caller(channel, [channel.frame(message) for message in messages])

    def memory_mb(self) -> float:
        return processes.memory_mb(self.pid)

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self.pid)
