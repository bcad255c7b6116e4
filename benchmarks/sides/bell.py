"""A second process beside a running aipm, which leaves interrupts when it is told to."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.sides.side import ROOT, Server
from benchmarks.wire.messages import tool

AGENT = "ann"


class Bell:
    """Rings at an agent, and lets the agent read what it was told."""

    def __init__(self, server: Server, process: asyncio.subprocess.Process) -> None:
        self._server, self._process = server, process

    async def ring(self) -> None:
        """Leave an interrupt; return when it is on disk."""
        assert self._process.stdin
        self._process.stdin.write(b"\n")
        await self.heard(b"left")

    async def heard(self, word: bytes) -> None:
        """Wait for a word of the process."""
        assert self._process.stdout
        line = await self._process.stdout.readline()
        if line.strip() != word:
            raise ConnectionError("the second process ended")

    async def settle(self) -> None:
        """Read the notifications, so that the agent can wait again."""
        channel = await self._server.channel()
        token = self._server.keys[f"{AGENT} task"]
        await channel.ask(tool("get_notifications", session_token=token))
        channel.close()


@asynccontextmanager
async def bell(server: Server) -> AsyncIterator[Bell]:
    """Run the second process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.sides.programs.ringer"),
        *(str(server.place / ".aipm-data"), AGENT),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=ROOT,
    )
    try:
        made = Bell(server, process)
        await made.heard(b"ready")
        yield made
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
