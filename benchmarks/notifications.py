"""Notifications: what the check costs, and how fast an interrupt arrives."""

import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median

import anyio
from aipm_notifications.api import INBOX, inbox_topic
from aipm_notifications.plugin import Notifications

from aipm_core import (
    Access,
    AnyTool,
    Call,
    Json,
    NoArguments,
    Plugin,
    Reply,
    Request,
    Tx,
    hookimpl,
    tool,
)
from aipm_core.testing import TASK, TestRuntime, running

CALLS = 100  # short rounds, so that some of them are undisturbed
ROUNDS = 400
MANY = 1_000_000
INTERRUPTS = 200
ELSEWHERE = """
import sys, anyio
from pathlib import Path
from aipm_core.testing import running
from aipm_notifications.api import INBOX
from aipm_notifications.plugin import Notifications

async def main():
    async with running(Notifications, data_dir=Path(sys.argv[1])) as aipm:
        inbox, store = aipm.runtime.services.use(INBOX), aipm.runtime.store
        print("ready", flush=True)
        for _ in sys.stdin:
            await store.write(lambda tx: inbox.put(
                tx, agent_id="agent-a", project_id="p", type="interrupt", message="m"))
            print("left", flush=True)

anyio.run(main)
"""


class Waiting(Plugin):
    """A tool that does nothing, and one that waits for an interrupt."""

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        yield tool(self.nothing, access=Access.SESSION)
        yield tool(self.wait, access=Access.SESSION, deadline=60)

    async def nothing(self, call: Call, args: NoArguments) -> Json:
        """Do nothing."""
        return {}

    async def wait(self, call: Call, args: NoArguments) -> Json:
        """Wait."""
        inbox, store, session = self.ctx.services.find(INBOX), self.ctx.store, call.caller

        async def look() -> bool | None:
            return await inbox.interrupted(store, session) or None if inbox else True

        await store.wait_until((inbox_topic("p", "agent-a"),), look, 30)
        return {}


def run() -> None:
    """Print all numbers."""
    anyio.run(_check)
    anyio.run(_arrival)
    with tempfile.TemporaryDirectory() as place:
        anyio.run(_arrival_from_elsewhere, Path(place))


async def _check() -> None:
    """Measure all sides in turns, so that a busy machine hurts them alike."""
    async with (
        running(Waiting) as bare,
        running(Waiting, Notifications) as empty,
        running(Waiting, Notifications) as full,
    ):
        await _fill(full, MANY)
        sides: dict[str, TestRuntime] = {"bare": bare, "empty": empty, "full": full}
        best = dict.fromkeys(sides, float("inf"))
        for _ in range(ROUNDS):
            for name, aipm in sides.items():
                best[name] = min(best[name], await _cost(aipm))
    print(f"call without the plugin      {best['bare']:7.1f} µs")
    print(f"the check adds               {best['empty'] - best['bare']:7.1f} µs   (at most 20)")
    print(f"… with {MANY:,} in the table {best['full'] - best['bare']:7.1f} µs   (at most 20)")


async def _cost(aipm: TestRuntime) -> float:
    request = Request(tool="nothing", session=TASK)
    start = time.perf_counter()
    for _ in range(CALLS):
        await aipm.runtime.call(request)
    return (time.perf_counter() - start) / CALLS * 1e6


async def _fill(aipm: TestRuntime, count: int) -> None:
    """Half are read ones of this agent, half unread ones of a hundred others."""

    async def unit(tx: Tx) -> None:
        await tx.run(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?) "
            "insert into notifications (id, agent_id, project_id, type, interrupt, message, "
            "created_at, expires_at, read_at) select 'ntf_' || i, "
            "case when i % 2 then 'agent-a' else 'agent-' || (i % 200) end, 'p', 'interrupt', 1, "
            "'m', '2026', 9e9, case when i % 2 then 1.0 end from n",
            count,
        )

    await aipm.runtime.store.write(unit)


async def _arrival() -> None:
    async with running(Waiting, Notifications) as aipm:
        inbox, store = aipm.runtime.services.use(INBOX), aipm.runtime.store

        async def interrupt() -> None:
            await store.write(
                lambda tx: inbox.put(
                    tx, agent_id="agent-a", project_id="p", type="interrupt", message="m"
                )
            )

        times = []
        for _ in range(INTERRUPTS):
            start, end = await _one_arrival(aipm, interrupt)
            times.append((end - start) * 1e3)
        _print("interrupt → reply, one process ", times, 50)


async def _arrival_from_elsewhere(place: Path) -> None:
    async with (
        running(Waiting, Notifications, data_dir=place) as aipm,
        await anyio.open_process([sys.executable, "-c", ELSEWHERE, place], stderr=None) as other,
    ):
        assert other.stdin is not None
        assert other.stdout is not None
        stdin, stdout = other.stdin, other.stdout
        await stdout.receive()

        async def ask() -> None:
            await stdin.send(b"\n")
            await stdout.receive()

        times = []
        for _ in range(INTERRUPTS):
            start, end = await _one_arrival(aipm, ask)
            times.append((end - start) * 1e3)
        await stdin.aclose()
        _print("interrupt → reply, two processes", times, 100)


async def _one_arrival(aipm: TestRuntime, interrupt: Json) -> tuple[float, float]:
    """Interrupt a waiting call; return when that was asked for and when the reply was there."""
    replies: list[tuple[Reply, float]] = []

    async def wait() -> None:
        reply = await aipm.call("wait")
        replies.append((reply, time.perf_counter()))

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(0.001)
        start = time.perf_counter()
        await interrupt()
    reply, end = replies[0]
    assert reply.replaced is not None
    await aipm.call("get_notifications")
    return start, end


def _print(what: str, times: list[float], limit: int) -> None:
    ordered = sorted(times)
    p99 = ordered[int(len(ordered) * 0.99)]
    print(f"{what} p50 {median(ordered):6.2f} ms  p99 {p99:6.2f} ms   (p99 at most {limit})")
