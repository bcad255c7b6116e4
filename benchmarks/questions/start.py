"""Cold start: from the start of the process to the first answered tool call."""

import asyncio
import time
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from benchmarks.run import Run
from benchmarks.sides.processes import end, free_port, launch
from benchmarks.sides.side import Side
from benchmarks.sides.starting import answering, furnished
from benchmarks.wire.stdio import Pipe

WAYS = ("HTTP", "stdio")


def steps(run: Run) -> int:
    """Return how many steps this takes."""
    ways = sum(side.http + side.stdio for side in run.sides)
    return len(run.sides) + ways * (run.scale.starts + 1)


async def measure(run: Run) -> None:
    """Start the sides in turns; the first round only fills the caches."""
    times: dict[tuple[str, str], list[float]] = {}
    async with AsyncExitStack() as places:
        starts: list[tuple[Side, Path, str]] = []
        for side in run.sides:
            enter = places.enter_async_context
            place = await run.step(side.name, "furnish", enter, furnished(side))
            starts += [(side, place, way) for way in ways(side)] if place else []
        for number in range(run.scale.starts + 1):
            for start in starts:
                name, way = start[0].name, start[2]
                took = await run.step(name, f"start, {way}", once, *start)
                if took is not None and number:
                    times.setdefault((name, way), []).append(took)
    for way in WAYS:
        for side in run.sides:
            if (side.name, way) in times:
                run.add(side.name, way, {"seconds": median(times[side.name, way])})


def ways(side: Side) -> list[str]:
    """Return the ways to a side."""
    return [way for way, has in zip(WAYS, (side.http, side.stdio), strict=True) if has]


async def once(side: Side, place: Path, way: str) -> float:
    """Start a server and return how long the first answer took."""
    begun = time.perf_counter()
    if way == "HTTP":
        port = free_port()
        process = launch(side.command(place, port), side.environ(place), place)
        try:
            url = f"http://127.0.0.1:{port}{side.path}"
            (await answering(side, url, process, place)).close()
            return time.perf_counter() - begun
        finally:
            await asyncio.to_thread(end, process)
    pipe = await Pipe.open(side.command(place, None), side.environ(place), place)
    try:
        await pipe.greet()
        (first,) = side.calls("first", 0, {"place": str(place)})
        await pipe.ask(first)
        return time.perf_counter() - begun
    finally:
        await pipe.end()
