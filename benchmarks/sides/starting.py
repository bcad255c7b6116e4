"""From a side to a server that answers."""

import asyncio
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.sides.installing import NotMeasured
from benchmarks.sides.processes import end, free_port, last_words, launch
from benchmarks.sides.side import Server, Side
from benchmarks.wire.http import Connection
from benchmarks.wire.messages import Channel
from benchmarks.wire.stdio import Pipe

START = 60.0
GLANCE = 0.003  # how often we look whether it answers


@asynccontextmanager
async def furnished(side: Side) -> AsyncIterator[Path]:
    """Make a place where a server of this side can be started."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as temporary:
        place = Path(temporary)
        await asyncio.to_thread(side.furnish, place)
        yield place


@asynccontextmanager
async def serving(side: Side) -> AsyncIterator[Server]:
    """Run a server over HTTP, or over stdio where a side has nothing else."""
    async with furnished(side) as place:
        if not side.http:
            async with piped(side, place) as server:
                yield server
            return
        port = free_port()
        process = launch(side.command(place, port), side.environ(place), place)
        try:
            url = f"http://127.0.0.1:{port}{side.path}"
            channel = await answering(side, url, process, place)
            keys = await side.introduce(channel, place)
            channel.close()
            yield Server(side, place, process.pid, keys, url)
        finally:
            await asyncio.to_thread(end, process)


@asynccontextmanager
async def piped(side: Side, place: Path) -> AsyncIterator[Server]:
    """Run a server over stdio."""
    pipe = await Pipe.open(side.command(place, None), side.environ(place), place)
    try:
        async with asyncio.timeout(START):
            await pipe.greet()
            keys = await side.introduce(pipe, place)
        yield Server(side, place, pipe.pid, keys, pipe=pipe)
    finally:
        await pipe.end()


@asynccontextmanager
async def beside(server: Server) -> AsyncIterator[Pipe]:
    """Run a second server over stdio on the data of the first."""
    side, place = server.side, server.place
    pipe = await Pipe.open(side.command(place, None), side.environ(place), place)
    try:
        await pipe.greet()
        yield pipe
    finally:
        await pipe.end()


async def answering(side: Side, url: str, process: subprocess.Popen[bytes], place: Path) -> Channel:
    """Return a channel as soon as the first call over it has been answered."""
    first = side.call("first", 0, {})
    assert first is not None
    async with asyncio.timeout(START):
        while process.poll() is None:
            try:
                channel = await Connection(url, side.eras[0]).open()
                await channel.ask(first)
            except (OSError, EOFError):
                await asyncio.sleep(GLANCE)
            else:
                return channel
    raise NotMeasured(f"the server ended by itself: {last_words(place)}")
