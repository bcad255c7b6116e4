"""MCP over HTTP: an authenticated read with all plugins on, beside bare servers that do nothing."""

import asyncio
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.mcp_peers.client import Load, load
from benchmarks.mcp_peers.processes import Peer, aipm, bare, fastmcp_python

CLIENTS = (1, 16, 64)
ERAS = ("modern", "legacy")
SECONDS = 0.5
ROUNDS = 3


def run() -> None:
    """Start every server, measure one after the other, print ratios."""
    with ExitStack() as running:
        peers = [running.enter_context(aipm())]
        peers.append(running.enter_context(bare("SDK", Path(sys.executable), "lowlevel.py")))
        fast = fastmcp_python()
        if fast is None:
            print("FastMCP cannot be installed here: its column is missing")
        else:
            peers.append(running.enter_context(bare("FastMCP", fast, "fast.py")))
        print(f"{'':22}{'server':>9}{'calls/s':>9}{'p50 ms':>8}{'p99 ms':>8}{'CPU µs':>8}")
        for era in ERAS:
            for clients in CLIENTS:
                measure(peers, era, clients)


def measure(peers: list[Peer], era: str, clients: int) -> None:
    """Print one line per server, and how many times more calls aipm answers."""
    loads = {peer.name: Load(0) for peer in peers}
    for _ in range(ROUNDS):  # in turns, so that a busy machine is busy for all of them
        for peer in peers:
            before = peer.cpu_seconds()
            made = asyncio.run(load(peer.url, peer.tool, peer.arguments, era, clients, SECONDS))
            loads[peer.name].add(made, peer.cpu_seconds() - before)
    for name, made in loads.items():
        p50, p99 = made.percentile(0.5), made.percentile(0.99)
        print(
            f"{era:8}{clients:3} clients   {name:>9}{made.rate:9.0f}"
            f"{p50:8.2f}{p99:8.1f}{made.cpu_microseconds:8.0f}"
        )
    ours = loads.pop("aipm")
    shown = ", ".join(
        f"{ours.rate / peer.rate:.1f}× {name} (by CPU "
        f"{peer.cpu_microseconds / ours.cpu_microseconds:.1f}×)"
        for name, peer in loads.items()
    )
    print(f"{'':22}{'aipm is':>9} {shown}   ≥ 3× FastMCP wanted", flush=True)
