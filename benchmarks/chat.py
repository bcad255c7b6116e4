"""Chat: durable messages in process and over HTTP, and how little a million old ones cost."""

import asyncio
import json
import multiprocessing
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import anyio
from aipm_file_chat.testing import Team, team
from aipm_markers.plugin import Markers
from aipm_notifications.plugin import Notifications

from aipm_core.testkit import Install

CLIENTS = 16
# What mcp_agent_mail does on comparable hardware (facts of the issue): 0.5-10 /s at 16 clients.
PEER = 10
TEXT = "仕様を確認しました。the second point needs a test."


async def send_all(made: Team, clients: int, each: int) -> tuple[float, list[float]]:
    """Let clients send to their neighbours; return messages a second and every latency."""
    took: list[float] = []

    async def send(number: int) -> None:
        for _ in range(each):
            start = time.perf_counter()
            await made.say(f"c{number}", f"c{(number + 1) % CLIENTS}", TEXT)
            took.append(time.perf_counter() - start)

    start = time.perf_counter()
    async with anyio.create_task_group() as tasks:
        for number in range(clients):
            tasks.start_soon(send, number)
    return clients * each / (time.perf_counter() - start), took


async def in_process() -> None:
    """Measure the whole call, store and both files included."""
    members = [f"c{number}" for number in range(CLIENTS)]
    with tempfile.TemporaryDirectory() as place:
        async with team(Path(place), Notifications, Markers, members=members) as made:
            for clients, each in ((1, 300), (CLIENTS, 200)):
                rate, took = await send_all(made, clients, each)
                p99 = sorted(took)[int(len(took) * 0.99)] * 1000
                print(
                    f"send_message in process, {clients:2} clients   {rate:8.0f} /s   "
                    f"p50 {median(took) * 1000:.1f} ms, p99 {p99:.1f} ms"
                )


def fill(database: Path, count: int) -> None:
    """Put many read messages into a store that is not open."""
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.executescript(
            f"""
            begin;
            with recursive n(i) as (select 1 union all select i + 1 from n where i < {count})
            insert into messages (id, project_id, sender_id, receiver_id, content, created_at,
                read_at)
            select 'msg_' || printf('%011x', 1767225600000 + i) || hex(randomblob(6)), 'p',
                'c' || (i % 16), 'c' || ((i + 1) % 16), 'message ' || i,
                '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z' from n;
            insert into messages_search (messages_search) values ('rebuild');
            commit;
            """
        )


async def measure(made: Team, sent: list[float], read: list[float]) -> None:
    """Take one sample of sending and one of reading."""
    start = time.perf_counter()
    await made.say("c0", "c1", TEXT)
    middle = time.perf_counter()
    await made.call("get_pending_messages", "c1", limit=1)
    sent.append(middle - start)
    read.append(time.perf_counter() - middle)


async def by_size() -> None:
    """Compare a thousand stored messages with a million, taking turns so that load hits both."""
    members = [f"c{number}" for number in range(CLIENTS)]
    small, large = (list[float](), list[float]()), (list[float](), list[float]())
    with tempfile.TemporaryDirectory() as root:
        places = [Path(root) / "thousand", Path(root) / "million"]
        for place, count in zip(places, (1_000, 1_000_000), strict=True):
            async with team(place, Notifications, Markers, members=members):
                pass
            await asyncio.to_thread(fill, place / "data" / "aipm.db", count)
        async with (
            team(places[0], Notifications, Markers) as thousand,
            team(places[1], Notifications, Markers) as million,
        ):
            for _ in range(500):
                await measure(thousand, *small)
                await measure(million, *large)
    for name, one, other in zip(
        ("send_message", "get_pending_messages"), small, large, strict=True
    ):
        before, after = median(one) * 1000, median(other) * 1000
        print(
            f"{name:<22} p50 at 1,000 / 1,000,000   {before:.2f} / {after:.2f} ms   "
            f"{after / before:.2f}x  (≤ 1.2 wanted)"
        )


async def post(address: tuple[str, int], body: object, streams: list[object]) -> dict[str, object]:
    """Call over one kept connection, with as little client as possible."""
    if not streams:
        streams.extend(await asyncio.open_connection(*address))
    reader, writer = streams
    assert isinstance(reader, asyncio.StreamReader)
    assert isinstance(writer, asyncio.StreamWriter)
    payload = json.dumps(body).encode()
    writer.write(
        f"POST /mcp HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"MCP-Protocol-Version: 2025-06-18\r\nContent-Length: {len(payload)}\r\n\r\n".encode()
        + payload
    )
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = int(head.partition("content-length:")[2].partition("\r\n")[0])
    reply: dict[str, object] = json.loads(await reader.readexactly(length))
    return reply


def request(tool: str, **arguments: str) -> dict[str, object]:
    """Make the JSON-RPC request of one tool call."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def clients(url: str, passkeys: list[str], seconds: float) -> list[float]:
    """Send over HTTP from all clients until the time is up; return every latency."""
    place = urlsplit(url)
    address = (place.hostname or "", place.port or 0)
    took: list[float] = []

    async def client(number: int) -> None:
        streams: list[object] = []
        login = request(
            "authenticate",
            agent_id=f"c{number}",
            passkey=passkeys[number],
            project_id="p",
            purpose="chat",
        )
        reply = await post(address, login, streams)
        token = reply["result"]["structuredContent"]["result"]["session_token"]  # type: ignore[index]
        await asyncio.sleep(0)
        call = request(
            "send_message",
            session_token=token,
            target_agent_id=f"c{(number + 1) % CLIENTS}",
            content=TEXT,
        )
        end = time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            reply = await post(address, call, streams)
            assert not reply["result"].get("isError"), reply  # type: ignore[attr-defined]
            took.append(time.perf_counter() - start)

    await asyncio.gather(*(client(number) for number in range(CLIENTS)))
    return took


def _work(url: str, passkeys: list[str], seconds: float, results: object) -> None:
    took = asyncio.run(clients(url, passkeys, seconds))
    results.put(took)  # type: ignore[attr-defined]


def over_http() -> None:
    """Measure the installed server with all default plugins, clients in a process of their own."""
    seconds = 6.0
    with tempfile.TemporaryDirectory() as root:
        install = Install.make(Path(root))
        install.run("project", "add", "p", "--dir", "work")
        passkeys = [
            install.json("agent", "add", f"c{number}", "--project", "p")["passkey"]
            for number in range(CLIENTS)
        ]
        with install.up() as server:
            spawn = multiprocessing.get_context("spawn")
            results = spawn.SimpleQueue()
            worker = spawn.Process(target=_work, args=(server.url, passkeys, seconds, results))
            worker.start()
            took = results.get()
            worker.join()
    rate = len(took) / seconds
    print(
        f"send_message over HTTP, {CLIENTS} clients     {rate:8.0f} /s   p50 "
        f"{median(took) * 1000:.1f} ms   {rate / PEER:.0f}x mcp_agent_mail's best (≥ 20x, aim "
        "1,000 /s)"
    )


def run() -> None:
    """Print all numbers of chat."""
    anyio.run(in_process)
    over_http()
    anyio.run(by_size)
