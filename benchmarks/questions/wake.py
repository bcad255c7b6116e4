"""Wake latency: from the request of who tells to the reply of who waits."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from benchmarks.catalogue import OURS
from benchmarks.run import Run
from benchmarks.sides.bell import bell
from benchmarks.sides.side import TEXT, Server
from benchmarks.sides.starting import beside
from benchmarks.wire.http import Connection
from benchmarks.wire.load import percentile
from benchmarks.wire.messages import Channel, tool

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

    side: str
    at: str
    wait: Callable[[], Awaitable[object]]
    ring: Callable[[], Awaitable[object]]
    settle: Callable[[], Awaitable[object]] | None = None
    share: int = 1


def steps(run: Run) -> int:
    """Return how many steps this takes."""
    names = [side.name for side in run.sides if side.name not in {"A2A", "task-master"}]
    return len(names) + (len(names) + 2 * (OURS in names)) * (run.scale.rounds + 1)


async def measure(run: Run) -> None:
    """Let the ways take turns."""
    sides = [side for side in run.sides if side.name not in {"A2A", "task-master"}]
    async with run.servers(sides) as servers, AsyncExitStack() as open_:
        ways: list[Way] = []
        for server in servers:
            opened = await run.step(server.side.name, "connect", connect, server, open_)
            ways += opened or []
        times: dict[tuple[str, str], list[float]] = {}
        for _ in run.rounds():
            for way in ways:
                took = await run.step(way.side, way.at, wakes, run, way)
                times.setdefault((way.side, way.at), []).extend(took or [])
    for (side, at), took in times.items():
        if took:
            p50, p99 = percentile(took, 0.5) * 1000, percentile(took, 0.99) * 1000
            run.add(side, at, {"p50_ms": p50, "p99_ms": p99})


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


async def connect(server: Server, open_: AsyncExitStack) -> list[Way]:
    """Open what a side's ways need."""
    if server.side.name == OURS:
        return await ours(server, open_)
    if server.side.name == "agent-mail":
        return [await asking(server)]
    waiting, ringing = await server.caller("wait", 0), await server.caller("ring", 1)
    return [Way(server.side.name, EVENT, waiting.call, ringing.call)]


async def ours(server: Server, open_: AsyncExitStack) -> list[Way]:
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

    other = await open_.enter_async_context(beside(server))
    rung = await open_.enter_async_context(bell(server))
    waiting = await server.caller("wait", 0)
    return [
        Way(OURS, ONE, lambda: channel.tell(poll), message(second), read),
        Way(OURS, OTHER, lambda: channel.tell(poll), message(other), read),
        Way(OURS, INTERRUPT, waiting.call, rung.ring, rung.settle),
    ]


async def asking(server: Server) -> Way:
    """Let the receiver ask until the answer is another one."""
    channel = await server.channel()
    assert isinstance(channel, Connection)
    frame = channel.frame(server.side.calls("read", 0, server.keys)[0])

    async def look() -> None:
        _, before = await channel.exchange(frame)
        while (await channel.exchange(frame))[1] == before:
            pass

    sending = await server.caller("send", 0)
    return Way(server.side.name, ASKING, look, sending.call, share=SLOWER)
