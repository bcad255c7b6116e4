"""Long polls held: memory, processor and waking of many clients that only wait."""

import asyncio
import resource
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from statistics import median

from benchmarks.catalogue import FASTMCP, OURS, SDK
from benchmarks.run import Run
from benchmarks.sides.bell import bell
from benchmarks.sides.side import Server
from benchmarks.wire.load import Caller

MEASURABLE = 100  # memory of fewer is lost in the noise of the allocator
FILES = 10_000
QUIET, IDLE = 3, 0.02  # so many glances in a row, with less processor time than this in each
Act = Callable[[], Awaitable[object]]


def steps(run: Run) -> int:
    """Return how many steps this takes."""
    return 2 * len(asked(run)) * len(run.scale.polls)


def asked(run: Run) -> list[str]:
    """Return the sides that can wait."""
    return [side.name for side in run.sides if side.name in {OURS, FASTMCP, SDK}]


async def measure(run: Run) -> None:
    """Hold more and more polls in every server."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, FILES), hard), hard))
    sides = [side for side in run.sides if side.name in asked(run)]
    for count in run.scale.polls:
        for side in sides:
            # a server of its own for every number: memory once taken is not given back
            async with run.servers([side]) as servers, AsyncExitStack() as open_:
                for server in servers:
                    await run.step(
                        side.name,
                        f"{count:,} polls",
                        hold,
                        run,
                        server,
                        count,
                        open_,
                    )


async def hold(run: Run, server: Server, count: int, open_: AsyncExitStack) -> None:
    """Hold polls and watch the process; then wake all of them, several times."""
    ring, settle = await _bell(server, open_)
    await (await server.caller("read", 0, "modern")).call()
    before = server.memory_mb()
    callers = [await server.caller("wait", 0, "modern") for _ in range(count)]
    polls = await held(server, callers)
    each = (server.memory_mb() - before) * 1024 / count
    used = server.cpu_seconds()
    await asyncio.sleep(run.scale.idle)  # not to wait for something, but to see it wait
    busy = (server.cpu_seconds() - used) / run.scale.idle * 100
    times = [await wake(polls, ring)]
    while len(times) < run.scale.rounds:
        await settle()
        times.append(await wake(await held(server, callers), ring))
    for caller in callers:
        caller.channel.close()
    found = {"cpu_percent": busy, "wake_ms": median(times)}
    memory = {"kb_each": each} if count >= MEASURABLE else {}
    run.add(server.side.name, f"{count:,} held", memory | found)


async def held(server: Server, callers: list[Caller]) -> list[asyncio.Task[float]]:
    """Let all callers wait; return when the server holds all of them."""
    polls = [asyncio.create_task(woken(caller)) for caller in callers]
    await quiet(server)
    if any(poll.done() for poll in polls):
        raise RuntimeError("a poll was not held")
    return polls


async def wake(polls: list[asyncio.Task[float]], ring: Act) -> float:
    """Wake all; return after how many milliseconds the last of them had its reply."""
    begun = time.perf_counter()
    await ring()
    return (max(await asyncio.gather(*polls)) - begun) * 1000


async def quiet(server: Server) -> None:
    """Wait until the server has taken in all polls and does nothing any more."""
    used, still = server.cpu_seconds(), 0
    while still < QUIET:
        await asyncio.sleep(0.25)
        now = server.cpu_seconds()
        still = still + 1 if now - used < IDLE else 0
        used = now


async def woken(caller: Caller) -> float:
    """Return when a poll was answered."""
    if not await caller.call():
        raise RuntimeError("a poll was refused")
    return time.perf_counter()


async def _bell(server: Server, open_: AsyncExitStack) -> tuple[Act, Act]:
    """Return how to wake those who wait, and how to let them wait again."""
    if server.side.name == OURS:
        made = await open_.enter_async_context(bell(server))
        return made.ring, made.settle

    async def ring() -> None:
        caller = await server.caller("ring", 1, "modern")
        await caller.call()
        caller.channel.close()

    async def nothing() -> None:
        return

    return ring, nothing
