"""How long changes, unwatched records and notes about items are kept."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention, old_rows

from aipm_core import Tx
from aipm_views.config import ViewsConfig

_HOURS = 24
_BATCH = 500
_PROJECTS = 5
_UNWATCHED = (
    "delete from view_records where project_id = ?",
    "delete from view_changes where project_id = ?",
    "delete from view_heads where project_id = ?",
)
_SNOOZES = (
    "delete from inbox_snoozes where (project_id, person_id, item_id) in (select project_id, "
    "person_id, item_id from inbox_snoozes where at < ? limit ?)"
)
_HANDOVERS = (
    "delete from inbox_handovers where (project_id, item_id, from_id) in (select project_id, "
    "item_id, from_id from inbox_handovers where at < ? limit ?)"
)


def lives(config: ViewsConfig) -> Iterable[Retention]:
    """Return the life of everything this plugin stores."""
    hours, days = config.keep_hours, config.keep_notes_days
    yield Retention(name="view_changes", days=hours / _HOURS, forget=_forget_changes)
    unwatched = config.keep_unwatched_days
    yield Retention(name="view_records", days=unwatched, forget=_forget_unwatched)
    yield Retention(name="inbox_snoozes", days=days, forget=old_rows(_SNOOZES))
    yield Retention(name="inbox_handovers", days=days, forget=old_rows(_HANDOVERS))


async def _forget_changes(tx: Tx, before: float) -> int:
    """Forget the oldest first: a place that is still there has everything behind it."""
    rows = await tx.all(
        "select project_id, seq from view_changes where seq < ? order by seq limit ?",
        *(int(before * 1000), _BATCH),
    )
    for project_id, last in {row["project_id"]: row["seq"] for row in rows}.items():
        await tx.run("delete from view_changes where project_id = ? and seq <= ?", project_id, last)
        await tx.run("update view_heads set base_seq = ? where project_id = ?", last, project_id)
    return len(rows)


async def _forget_unwatched(tx: Tx, before: float) -> int:
    """Stop keeping the records of projects that nobody has looked at since."""
    rows = await tx.all(
        "select project_id from view_heads where asked_at < ? limit ?", before, _PROJECTS
    )
    for row in rows:
        for statement in _UNWATCHED:
            await tx.run(statement, row["project_id"])
    left = await tx.one("select 1 from view_heads limit 1")
    if left is None:
        await tx.run("delete from view_marks")
    return len(rows)
