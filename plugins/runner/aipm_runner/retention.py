"""How long runs and their logs are remembered."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention

from aipm_core import Tx, iso
from aipm_runner.config import RunnerConfig

_BATCH = 20  # runs in one transaction; each takes its log with it


def lives(config: RunnerConfig) -> Iterable[Retention]:
    """Return the life of everything that is not kept until people delete it."""
    yield Retention(name="runs", days=config.keep_days, forget=_forget)


async def _forget(tx: Tx, before: float) -> int:
    rows = await tx.all(
        "select id from runs where ended_at < ? order by ended_at limit ?", iso(before), _BATCH
    )
    for row in rows:
        await tx.run("delete from run_log where run_id = ?", row["id"])
        await tx.run("delete from run_changes where run_id = ?", row["id"])
        await tx.run("delete from runs where id = ?", row["id"])
    return len(rows)
