"""Memory: after the first call, and after work."""

from statistics import median

from benchmarks.run import Run
from benchmarks.sides.side import Server
from benchmarks.wire.load import load

CLIENTS, SENDERS = 16, 4  # more senders and agent-mail stops answering
IDLE, WORKED = "idle", "after load"


def steps(run: Run) -> int:
    """Return how many steps this takes."""
    return len(run.sides) * 2 * rounds(run)


def rounds(run: Run) -> int:
    """Return how often each side is started."""
    return 3 if run.scale.rounds > 3 else 1


async def measure(run: Run) -> None:
    """Start, look, work, look; several times, because memory varies with how it was asked for."""
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds(run)):
        for side in run.sides:
            async with run.servers([side]) as servers:
                for server in servers:
                    looked = await run.step(side.name, "work", idle_and_worked, run, server)
                    for at, mb in looked or ():
                        found.setdefault((side.name, at), []).append(mb)
    for at in (IDLE, WORKED):
        for side in run.sides:
            if (side.name, at) in found:
                run.add(side.name, at, {"mb": median(found[side.name, at])})


async def idle_and_worked(run: Run, server: Server) -> list[tuple[str, float]]:
    """Return the memory of a server before and after work."""
    idle = server.memory_mb()
    seconds = run.scale.seconds * 3
    await load(lambda number: server.caller("read", number), CLIENTS, seconds)
    await load(lambda number: server.caller("send", number), SENDERS, seconds)
    return [(IDLE, idle), (WORKED, server.memory_mb())]
