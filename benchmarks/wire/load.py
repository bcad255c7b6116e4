"""Many callers for a while: how many calls, how long each took, what went wrong."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from statistics import median

from benchmarks.wire.messages import Channel

GRACE = 20.0  # a call that takes longer than this has not been answered


@dataclass
class Caller:
    """A channel and the requests it sends again and again, in turns."""

    channel: Channel
    frames: list[bytes]
    _done: int = 0

    async def call(self) -> bool:
        answered = await self.channel.tell(self.frames[self._done % len(self.frames)])
        self._done += answered
        return answered


@dataclass
class Load:
    """What came of one run."""

    seconds: float = 0
    latencies: list[float] = field(default_factory=list[float])
    errors: int = 0
    unanswered: int = 0
    cpu_seconds: float = 0
    answered_by: list[int] = field(default_factory=list[int])
    ended_well: list[bool] = field(default_factory=list[bool])

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    def percentile(self, share: float) -> float:
        """Return a latency in milliseconds."""
        return percentile(self.latencies, share) * 1000


def percentile(values: list[float], share: float) -> float:
    """Return the value below which this share of all lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


async def load(
    open_caller: Callable[[int], Awaitable[Caller]],
    clients: int,
    seconds: float,
    used: Callable[[], float] = lambda: 0.0,
    grace: float = GRACE,
) -> Load:
    """Let so many clients call for so long; calls in flight at the end get their grace.

    ``used`` tells the processor time of the server, which is read when all clients are connected.
    """
    callers = [await open_caller(number) for number in range(clients)]
    made = Load(answered_by=[0] * clients, ended_well=[False] * clients, cpu_seconds=-used())
    begun = time.perf_counter()

    async def client(number: int, caller: Caller) -> None:
        while (start := time.perf_counter()) < begun + seconds:
            made.ended_well[number] = False
            if await caller.call():
                made.ended_well[number] = True
                made.latencies.append(time.perf_counter() - start)
                made.answered_by[number] += 1
            else:
                made.errors += 1

    tasks = [asyncio.create_task(client(*numbered)) for numbered in enumerate(callers)]
    done, late = await asyncio.wait(tasks, timeout=seconds + grace)
    made.seconds = time.perf_counter() - begun
    made.cpu_seconds += used()
    made.unanswered = len(late)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    for caller in callers:
        caller.channel.close()
    for task in done:
        task.result()
    return made


def summary(rounds: list[Load]) -> dict[str, float]:
    """Return the medians of several rounds, and the sum of what went wrong."""
    made = {
        "calls_per_second": median(one.rate for one in rounds),
        "p50_ms": median(one.percentile(0.5) for one in rounds),
        "p99_ms": median(one.percentile(0.99) for one in rounds),
        "errors": sum(one.errors + one.unanswered for one in rounds),
    }
    answered = sum(len(one.latencies) for one in rounds)
    used = sum(one.cpu_seconds for one in rounds)
    if answered and used:
        made["cpu_us"] = used / answered * 1e6
    return made
