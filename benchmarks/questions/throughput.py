"""Calls a second: an authenticated read in aipm, the least a call can be elsewhere."""

from contextlib import AsyncExitStack

from benchmarks.run import Run
from benchmarks.sides.side import Server, Side
from benchmarks.sides.starting import furnished, piped
from benchmarks.wire.load import Caller, Load, load, summary
from benchmarks.wire.messages import Era

CLIENTS = (1, 16, 64)
MODERN = "16 clients, MCP 2026-07-28"
PIPED = "1 client, stdio"


def steps(run: Run) -> int:
    """Return how many steps this takes."""
    http = [side for side in run.sides if side.http]
    modern = [side for side in http if "modern" in side.eras]
    stdio = [side for side in run.sides if side.stdio]
    return (
        len(http)
        + run.scale.rounds * (len(CLIENTS) * len(http) + len(modern) + len(stdio))
        + len(stdio)
    )


async def measure(run: Run) -> None:
    """Ask every server, over HTTP and over stdio."""
    async with run.servers([side for side in run.sides if side.http]) as servers:
        for clients in CLIENTS:
            at = f"{clients} client{'s' if clients > 1 else ''}"
            await compare(run, servers, at, clients)
        modern = [server for server in servers if "modern" in server.side.eras]
        await compare(run, modern, MODERN, 16, "modern")
    async with AsyncExitStack() as running:
        servers = []
        for side in [side for side in run.sides if side.stdio]:
            server = await run.step(side.name, "start over stdio", _pipe, running, side)
            servers += [server] if server else []
        await compare(run, servers, PIPED, 1)


async def _pipe(running: AsyncExitStack, side: Side) -> Server:
    place = await running.enter_async_context(furnished(side))
    return await running.enter_async_context(piped(side, place))


async def compare(
    run: Run, servers: list[Server], at: str, clients: int, era: Era | None = None
) -> None:
    """Let the servers take turns; add a row for each."""
    loads: dict[str, list[Load]] = {server.side.name: [] for server in servers}
    for _ in run.rounds():
        for server in servers:
            made = await run.step(server.side.name, at, once, run, server, clients, era)
            loads[server.side.name] += [made] if made else []
    for name, rounds in loads.items():
        if rounds and any(one.latencies for one in rounds):
            run.add(name, at, summary(rounds))


async def once(run: Run, server: Server, clients: int, era: Era | None) -> Load:
    """One round of one server."""

    async def client(number: int) -> Caller:
        return await server.caller("read", number, era)

    return await load(client, clients, run.scale.seconds, server.cpu_seconds)
