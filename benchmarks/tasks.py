"""Tasks: get_next_action in a small project and in a large one."""

import time
from statistics import median

import anyio
from aipm_notifications.plugin import Notifications
from aipm_sessions.api import DIRECTORY, SESSION_DESK
from aipm_sessions.plugin import Sessions
from aipm_tasks.plugin import Tasks

from aipm_core import Request, Session, Tx
from aipm_core.testing import TestRuntime, running

FEW, MANY = 100, 100_000
CALLS = 1500
ROUNDS = 3


def run() -> None:
    """Print the numbers."""
    anyio.run(_run)


async def _run() -> None:
    async with (
        running(Sessions, Tasks, Notifications) as small,
        running(Sessions, Tasks, Notifications) as large,
    ):
        for aipm, count in ((small, FEW), (large, MANY)):
            await _fill(aipm, count)
        for title, status in (("with a task ", "in_progress"), ("with an offer", "todo")):
            await _compare(title, status, small, large)


async def _compare(title: str, status: str, small: TestRuntime, large: TestRuntime) -> None:
    """Measure both sides in turns, so that a busy machine hurts both alike."""
    sessions = []
    for aipm in (small, large):
        await _set(aipm, status)
        sessions.append(await _session(aipm))
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for side, aipm in enumerate((small, large)):
            times[side] += await _time(aipm, sessions[side])
    few, many = median(times[0]), median(times[1])
    print(
        f"get_next_action {title}: {FEW} tasks p50 {few:6.1f} µs   {MANY:,} tasks p50 "
        f"{many:6.1f} µs   ratio {many / few:4.2f}   (at most 1.5)"
    )


async def _time(aipm: TestRuntime, session: Session) -> list[float]:
    request = Request(tool="get_next_action", arguments={"timeout_seconds": 0}, session=session)
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        await aipm.runtime.call(request)
        times.append((time.perf_counter() - start) * 1e6)
    return times


async def _session(aipm: TestRuntime) -> Session:
    directory, desk = aipm.runtime.services.use(DIRECTORY), aipm.runtime.services.use(SESSION_DESK)
    store = aipm.runtime.store
    agent = await directory.agent(store, "worker")
    assert agent is not None
    session, _ = await store.write(lambda tx: desk.open(tx, agent, "p", "task"))
    return session


async def _set(aipm: TestRuntime, status: str) -> None:
    """Let one of the agent's tasks be the next thing to do."""

    async def unit(tx: Tx) -> None:
        await tx.run("update tasks set status = ? where id = 'tsk_1'", status)
        await tx.run("update task_sessions set freed_at = 'x'")

    await aipm.runtime.store.write(unit)


async def _fill(aipm: TestRuntime, count: int) -> None:
    """All tasks belong to the agent that asks; most wait, some are finished."""

    async def unit(tx: Tx) -> None:
        await tx.run("insert into projects (id, name, created_at) values ('p', 'p', '2026')")
        await tx.run(
            "insert into agents (id, name, kind, role, passkey_hash, created_at) "
            "values ('worker', 'w', 'ai', 'worker', 'x', '2026')"
        )
        await tx.run("insert into project_agents values ('p', 'worker')")
        await tx.run(
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < ?) "
            "insert into tasks (id, project_id, title, description, status, priority, rank, "
            "assignee_id, depth, approval_status, created_at, updated_at) select 'tsk_' || i, "
            "'p', 't', '', case i % 4 when 0 then 'done' when 1 then 'backlog' when 2 then 'todo' "
            "else 'blocked' end, 'medium', i % 4, 'worker', 1, 'approved', '2026', '2026' from n",
            count,
        )

    await aipm.runtime.store.write(unit)
