"""A thousand agents waiting in one process: memory, idleness, and one message that wakes all."""

import asyncio
import resource
import time
from collections.abc import Awaitable

from benchmarks.mcp_peers.client import Connection, call
from benchmarks.mcp_peers.processes import Peer, aipm

POLLS = 1000
IDLE_SECONDS = 5.0


def run() -> None:
    """Hold the polls, watch the process, wake them with one interrupt."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with aipm("[server]\nmax_connections = 5000\n") as peer:
        asyncio.run(measure(peer))


async def measure(peer: Peer) -> None:
    """Print what a thousand waiting clients cost."""
    connections = [Connection(peer.url) for _ in range(POLLS)]
    for connection in connections:
        await connection.open()
    message = call("get_next_action", {**peer.arguments, "timeout_seconds": 55}, "modern")
    before = peer.memory_kb()
    polls = [asyncio.create_task(one(connection.ask(message))) for connection in connections]
    await asyncio.sleep(IDLE_SECONDS)  # not to wait for something, but to see it wait
    each = (peer.memory_kb() - before) / POLLS
    cpu = peer.cpu_seconds()
    await asyncio.sleep(IDLE_SECONDS)
    busy = (peer.cpu_seconds() - cpu) / IDLE_SECONDS
    assert not any(poll.done() for poll in polls)
    begun = time.perf_counter()
    peer.notify("stop")
    sent = time.perf_counter()
    done = await asyncio.gather(*polls)
    print(f"memory of a held poll     {each:8.1f} KB   (≤ 60 wanted)")
    print(f"CPU while they wait       {busy:8.1%}")
    print(f"the command took          {sent - begun:8.2f} s")
    print(f"first and last woken      {min(done) - begun:8.2f} s, {max(done) - begun:.2f} s")
    print(f"all within                {max(done) - min(done):8.2f} s    (< 1 wanted)")
    for connection in connections:
        connection.close()


async def one(exchange: Awaitable[tuple[bytes, bytes]]) -> float:
    """Return when a poll was answered."""
    _, body = await exchange
    assert b"get_notifications" in body, body
    return time.perf_counter()
