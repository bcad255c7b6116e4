"""Growth: the same calls in stores of very different sizes, taking turns."""

import asyncio
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aipm_cli.program import open_runtime

from aipm_core import Request, Session
from aipm_core.models import Purpose
from aipm_core.runtime import Runtime
from benchmarks.catalogue import OURS
from benchmarks.questions.filling import fill, furnish, session, settings
from benchmarks.run import Run
from benchmarks.sides.side import TEXT
from benchmarks.wire.load import percentile

ROUNDS = 10
FILLING = 600.0
CALLS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("send_message", "ann chat", {"target_agent_id": "bob", "content": TEXT}),
    ("get_pending_messages", "bob chat", {"limit": 1}),
    ("get_notifications", "bob chat", {}),
    ("get_my_task", "bob task", {}),
    ("get_next_action", "bob task", {"timeout_seconds": 0}),
    ("list_tasks", "bob task", {"limit": 20}),
)


@dataclass
class Store:
    """An open store of a size, and who calls."""

    size: int
    runtime: Runtime
    sessions: dict[str, Session]


def steps(run: Run) -> int:
    """Return how many steps this takes."""
    return len(run.scale.sizes) * (2 + ROUNDS)


async def measure(run: Run) -> None:
    """Fill the stores, then call in turns."""
    if OURS not in [side.name for side in run.sides]:
        return
    times: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as root:
        async with AsyncExitStack() as open_:
            stores = []
            for size in run.scale.sizes:
                store = await run.step(
                    OURS,
                    f"fill with {size:,}",
                    opened,
                    Path(root),
                    size,
                    open_,
                    limit=FILLING,
                )
                stores += [store] if store else []
            for number in range(ROUNDS + 1):
                for store in stores:
                    kept = times if number else {}  # the first round fills the caches
                    await run.step(OURS, f"calls with {store.size:,}", once, run, store, kept)
    for name, _, _ in CALLS:
        for size in run.scale.sizes:
            if took := times.get((name, size)):
                found = {"p50_ms": percentile(took, 0.5) * 1000, "stored": float(size)}
                run.add(OURS, f"{name}, {size:,} stored", found)


async def opened(root: Path, size: int, open_: AsyncExitStack) -> Store:
    """Make, fill and open a store."""
    place = root / str(size)
    await furnish(place)
    await asyncio.to_thread(fill, place, size)
    runtime = await open_.enter_async_context(open_runtime(settings(place)))
    who: tuple[tuple[str, Purpose], ...] = (("ann", "chat"), ("bob", "chat"), ("bob", "task"))
    sessions = {f"{agent} {why}": await session(runtime, agent, why) for agent, why in who}
    return Store(size, runtime, sessions)


async def once(run: Run, store: Store, times: dict[tuple[str, int], list[float]]) -> None:
    """Call everything a few times."""
    for _ in range(max(1, run.scale.samples // ROUNDS)):
        for name, who, arguments in CALLS:
            request = Request(tool=name, arguments=arguments, session=store.sessions[who])
            start = time.perf_counter()
            reply = await store.runtime.call(request)
            times.setdefault((name, store.size), []).append(time.perf_counter() - start)
            if reply.error is not None or reply.replaced is not None:
                raise RuntimeError(f"{name}: {reply}")
