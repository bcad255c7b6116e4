"""Many subscribers: each gets every event of its session, and nothing else."""

import asyncio
import json
import statistics
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from aipm_devkit.program import Install
from aipm_devkit.testing import TestRuntime, running
from aipm_sessions.api import DIRECTORY
from aipm_sessions.plugin import ADMINISTRATION, Sessions
from aipm_ui_gateway.api import UI_SESSIONS, UiSession, new_message
from aipm_ui_gateway.plugin import UiGateway

from aipm_core import Tx

SUBSCRIBERS, EVENTS = 500, 4


async def sessions_of(aipm: TestRuntime) -> tuple[str, list[UiSession]]:
    administration = aipm.runtime.services.use(ADMINISTRATION)
    await administration.add_project("p", "p", None)
    more: dict[str, Any] = {"project_id": "p", "name": "x", "role": "worker", "parent": None}
    await administration.add_agent("bot", kind="ai", **more)
    await administration.add_agent("ann", kind="human", **more)
    token = await administration.add_token("ann")
    ann = await aipm.runtime.services.use(DIRECTORY).agent(aipm.runtime.store, "ann")
    assert ann is not None
    sessions = aipm.runtime.services.use(UI_SESSIONS)

    async def open_all(tx: Tx) -> list[UiSession]:
        return [await sessions.open(tx, ann, "p", "bot") for _ in range(SUBSCRIBERS)]

    return token["token"], await aipm.runtime.store.write(open_all)


class Subscriber:
    """A raw event stream: no client library between the socket and the clock."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.ready = anyio.Event()
        self.delays: list[float] = []
        self.contents: list[str] = []

    async def listen(self, address: str, token: str) -> None:
        host, port = address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"GET /events?session={self.session} HTTP/1.1\r\nHost: {host}:{port}\r\n"
            f"Authorization: Bearer {token}\r\n\r\n".encode()
        )
        try:
            while len(self.contents) < EVENTS:
                line = await reader.readline()
                if line.startswith(b": ready"):
                    self.ready.set()
                elif line.startswith(b"data: "):
                    payload = json.loads(line[6:])["payload"]
                    sent, content = payload["content"].split(" ")
                    self.delays.append(time.monotonic() - float(sent))
                    self.contents.append(content)
        finally:
            writer.close()
            await writer.wait_closed()


async def test_five_hundred_subscribers_get_every_event_of_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install = Install.make(tmp_path)
    async with running(Sessions, UiGateway, data_dir=tmp_path / ".aipm-data") as aipm:
        token, sessions = await sessions_of(aipm)
        subscribers = [Subscriber(session.id) for session in sessions]
        with install.up() as server, anyio.fail_after(90):
            async with anyio.create_task_group() as tasks:
                for subscriber in subscribers:
                    tasks.start_soon(subscriber.listen, server.url, token)
                for subscriber in subscribers:
                    await subscriber.ready.wait()
                for number in range(EVENTS):
                    for one in subscribers:
                        text = f"{time.monotonic()} {one.session}/{number}"
                        await aipm.runtime.events.publish(new_message(one.session, text))
    for one in subscribers:
        assert one.contents == [f"{one.session}/{number}" for number in range(EVENTS)]
    delays = [delay for one in subscribers for delay in one.delays]
    p50, p99 = statistics.median(delays), statistics.quantiles(delays, n=100)[98]
    with capsys.disabled():
        print(f"\n{SUBSCRIBERS} subscribers: p50 {p50 * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms")
