"""What a runner reports of its runs, written as part of a transaction."""

from __future__ import annotations

from collections.abc import Sequence

from aipm_core import Tx
from aipm_runner.run_records import LogLine, Place
from aipm_runner.runs import run_topic

# A place has one run at a time; the one that has it is written down with it.
_TAKE = (
    "update runs set workspace = ?, repository = ?, branch = ?, base = coalesce(base, ?) "
    "where id = ? and not exists (select 1 from runs o where o.workspace = ? "
    "and o.ended_at is null and o.parked = 0 and o.id <> ? "
    "and coalesce(o.machine, '') = coalesce(runs.machine, ''))"
)


async def take_place(tx: Tx, run_id: str, place: Place) -> bool:
    """Write down where a run works; ``False`` while another run works there."""
    values = (place.workspace, place.repository, place.branch, place.base)
    return await tx.run(_TAKE, *values, run_id, place.workspace, run_id) == 1


async def add_log(tx: Tx, run_id: str, lines: Sequence[LogLine]) -> None:
    """Add lines to a run's log; a line that is there stays."""
    for number, at, stream, text in lines:
        await tx.run(
            "insert into run_log (run_id, number, at, stream, text) "
            "values (?, ?, ?, ?, ?) on conflict do nothing",
            *(run_id, number, at, stream, text),
        )
    tx.wake(run_topic(run_id))


async def keep_changes(tx: Tx, run_id: str, text: str) -> None:
    """Keep what a run on another machine has changed, as git shows it."""
    await tx.run(
        "insert into run_changes (run_id, text) values (?, ?) "
        "on conflict (run_id) do update set text = excluded.text",
        *(run_id, text),
    )
    tx.wake(run_topic(run_id))
