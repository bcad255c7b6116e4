"""Many streams on one server: each gets every change, and how late the last ones get it."""

import asyncio
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from aipm_devkit.program import Server

from benchmarks.people.house import House, line, percentile

_MARK = b'"view":"tasks"'


def run(*, count: int, changes: int) -> None:
    """Open the streams, make tasks, and see who got them when."""
    with tempfile.TemporaryDirectory() as place:
        house = House.make(Path(place) / "house", {"todo": 20})
        with house.install.up() as server:
            late = asyncio.run(_followed(house, server, count, changes))
    line(f"{count:,} streams, {changes} changes each: p50", percentile(late, 0.5), "ms")
    line(f"{count:,} streams, {changes} changes each: p99", percentile(late, 0.99), "ms")


async def _followed(house: House, server: Server, count: int, changes: int) -> list[float]:
    """Return how many milliseconds after its request each change came to each stream."""
    made: list[float] = []
    opened = await asyncio.gather(*(_opened(house, server) for _ in range(count)))
    readers = [asyncio.create_task(_times(reader, changes)) for reader, _ in opened]
    headers = {"Authorization": f"Bearer {house.token}"}
    async with httpx.AsyncClient(headers=headers, timeout=60) as http:
        for number in range(changes):
            made.append(time.perf_counter())
            body = {"project_id": "p", "title": f"new {number}"}
            answer = await http.post(f"{server.url}/api/tools/create_task", json=body)
            answer.raise_for_status()
    got = await asyncio.wait_for(asyncio.gather(*readers), 120)
    for _, writer in opened:
        writer.close()
    pairs = (zip(made, times, strict=True) for times in got)
    return [(seen - sent) * 1000 for pair in pairs for sent, seen in pair]


async def _opened(
    house: House, server: Server
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    where = urlsplit(server.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port, limit=1 << 20)
    writer.write(
        f"GET /api/projects/p/stream HTTP/1.1\r\nHost: {where.netloc}\r\n"
        f"Authorization: Bearer {house.token}\r\n\r\n".encode()
    )
    head = await reader.readuntil(b": ready\n\n")
    assert head.startswith(b"HTTP/1.1 200"), head
    return reader, writer


async def _times(reader: asyncio.StreamReader, changes: int) -> list[float]:
    times: list[float] = []
    while len(times) < changes:
        text = await reader.readuntil(b"\n\n")
        if _MARK in text and b'"title":"new ' in text:
            times.append(time.perf_counter())
    return times
