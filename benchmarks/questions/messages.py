"""Durable messages a second, and whether what was acknowledged is there."""

import os
import signal
from contextlib import suppress

from benchmarks.run import Run
from benchmarks.sides.side import Server
from benchmarks.wire.load import Load, load, summary

CLIENTS = (1, 16, 64)
SLOW = {"agent-mail", "task-master"}  # tens a second at best: short rounds would hold no call
LIMIT = 60.0


def steps(run: Run) -> int:
    """Return how many steps this takes."""
    return len(run.sides) * (1 + len(CLIENTS) * (rounds(run) + 1))


def rounds(run: Run) -> int:
    """Return how often each side has its turn."""
    return min(run.scale.rounds, 3)


async def measure(run: Run) -> None:
    """Let every server take messages, and count them afterwards."""
    async with run.servers(run.sides) as started:
        answering = started
        for clients in CLIENTS:
            answering = await compare(run, answering, clients)


async def compare(run: Run, servers: list[Server], clients: int) -> list[Server]:
    """Let the servers take turns; add a row for each; return those that still answer."""
    at = f"{clients} client{'s' if clients > 1 else ''}"
    before = {one.side.name: one.side.stored(one.place) for one in servers}
    loads: dict[str, list[Load]] = {server.side.name: [] for server in servers}
    answering = list(servers)
    for _ in range(rounds(run)):
        for server in list(answering):
            name = server.side.name
            made = await run.step(name, at, once, run, server, clients, limit=LIMIT)
            loads[name] += [made] if made else []
            if made and made.unanswered:
                answering.remove(server)
                give_up(run, server, at, made.unanswered)
    for server in servers:
        name = server.side.name
        await run.step(name, f"{at}, audit", audit, run, server, at, before[name], loads[name])
    return answering


def give_up(run: Run, server: Server, at: str, unanswered: int) -> None:
    """End a server that does not keep up: what it still works on would slow the others down."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    why = f"{unanswered} calls got no answer within {run.scale.grace:.0f} s"
    run.section.missing[f"{server.side.name} with more than {at}"] = why


async def once(run: Run, server: Server, clients: int) -> Load:
    """One round of one server."""
    seconds = max(1.5, run.scale.seconds) if server.side.name in SLOW else run.scale.seconds
    return await load(
        lambda number: server.caller("send", number), clients, seconds, grace=run.scale.grace
    )


async def audit(run: Run, server: Server, at: str, before: int, rounds: list[Load]) -> None:
    """Add a row: how fast, and how much of it is there."""
    acknowledged, stored = server.side.audit(server.place, before, rounds)
    counted = {"acknowledged": float(acknowledged), "lost": float(max(0, acknowledged - stored))}
    run.add(server.side.name, at, summary(rounds) | counted)
