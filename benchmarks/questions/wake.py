"""Wake latency: from the request of who tells to the reply of who waits."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from benchmarks.catalogue import OURS
from benchmarks.run import Run
from benchmarks.sides.bell import Bell, bell
from benchmarks.sides.side import TEXT, Server, Side
from benchmarks.sides.starting import beside
from benchmarks.wire.http import Connection
from benchmarks.wire.load import percentile
from benchmarks.wire.messages import Channel, tool
from benchmarks.wire.stdio import Pipe

SETTLED = 0.01  # seconds a request needs, amply, to become a held poll
SLOWER = 5  # agent-mail needs a tenth of a second each time: a fifth of the samples will do
ONE, OTHER, INTERRUPT = (
    "message, one server",
    "message, from another process",
    "interrupt, from another process",
)
EVENT, ASKING = "event in memory", "asking again and again"


@dataclass
class Way:
    """A way in which one client makes another one's call return."""

    at: str
    wait: Callable[[], Awaitable[object]]
    ring: Callable[[], Awaitable[object]]
    settle: Callable[[], Awaitable[object]] | None = None
    share: int = 1


@dataclass
class Neighbours:
    """Other processes on the data of our server."""

    pipe: Pipe
    bell: Bell


def steps(run: Run) -> int:
    """Return how many steps this takes."""
    names = [side.name for side in asked(run)]
    return len(names) * (1 + run.scale.rounds) + (OURS in names)


def asked(run: Run) -> list[Side]:
    """Return the sides in which one client can make another one's call return."""
    return [side for side in run.sides if side.name not in {"A2A", "task-master"}]


async def measure(run: Run) -> None:
    """Let the sides take turns."""
    times: dict[tuple[str, str], list[float]] = {}
    async with run.servers(asked(run)) as servers, AsyncExitStack() as open_:
        others: Neighbours | None = None
        for server in servers:
            if server.side.name == OURS:
                others = await run.step(OURS, "other processes", neighbours, server, open_)
        for _ in run.rounds():
            for server in servers:
                took = await run.step(server.side.name, "wake", once, run, server, others)
                for at, seconds in (took or {}).items():
                    times.setdefault((server.side.name, at), []).extend(seconds)
    for (side, at), seconds in times.items():
        p50, p99 = percentile(seconds, 0.5) * 1000, percentile(seconds, 0.99) * 1000
        run.add(side, at, {"p50_ms": p50, "p99_ms": p99})


async def neighbours(server: Server, open_: AsyncExitStack) -> Neighbours:
    """Start other processes on the data of our server."""
    pipe = await open_.enter_async_context(beside(server))
    return Neighbours(pipe, await open_.enter_async_context(bell(server)))


async def once(run: Run, server: Server, others: Neighbours | None) -> dict[str, list[float]]:
    """Let a side wake clients in all its ways, over new connections: servers close idle ones."""
    if server.side.name == OURS and others is not None:
        ways = await ours(server, others)
    elif server.side.name == "agent-mail":
        ways = [await asking(server)]
    else:
        waiting, ringing = await server.caller("wait", 0), await server.caller("ring", 1)
        ways = [Way(EVENT, waiting.call, ringing.call)]
    return {way.at: await wakes(run, way) for way in ways}


async def wakes(run: Run, way: Way) -> list[float]:
    """Wake a waiting client again and again; return how long each time took."""
    times: list[float] = []

    async def wait() -> float:
        await way.wait()
        return time.perf_counter()

    for _ in range(max(3, run.scale.wakes // run.scale.rounds // way.share)):
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(SETTLED)
        begun = time.perf_counter()
        await way.ring()
        times.append(await waiting - begun)
        if way.settle is not None:
            await way.settle()
    return times


async def ours(server: Server, others: Neighbours) -> list[Way]:
    """Three ways: a message within the server, one from `aipm mcp`, and an interrupt."""
    channel, second = await server.channel(), await server.channel()
    bob = {"session_token": server.keys["bob chat"]}
    poll = channel.frame(tool("get_next_action", timeout_seconds=55, **bob))

    def message(sender: Channel) -> Callable[[], Awaitable[object]]:
        told = {"target_agent_id": "bob", "content": TEXT}
        send = tool("send_message", session_token=server.keys["ann chat"], **told)
        return lambda: sender.ask(send)

    async def read() -> None:
        await second.ask(tool("get_pending_messages", **bob))
        await second.ask(tool("get_notifications", **bob))

    waiting = await server.caller("wait", 0)
    return [
        Way(ONE, lambda: channel.tell(poll), message(second), read),
        Way(OTHER, lambda: channel.tell(poll), message(others.pipe), read),
        Way(INTERRUPT, waiting.call, others.bell.ring, others.bell.settle),
    ]


async def asking(server: Server) -> Way:
    """Let the receiver ask until the answer is another one."""
    channel = await server.channel()
    assert isinstance(channel, Connection)
    frame = channel.frame(server.side.calls("read", 0, server.keys)[0])

    _, last = await channel.exchange(frame)

    async def look() -> None:
        nonlocal last
        while (answer := (await channel.exchange(frame))[1]) == last:
            pass
        last = answer

    sending = await server.caller("send", 0)
    return Way(ASKING, look, sending.call, share=SLOWER)
