"""What people see of delegations: who handed what over, and not what came of it in words."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_views.api import Ids, Record, View

from aipm_core import Reader

_SHOWN_OVER = 100
_OPEN = (
    "select * from chat_delegations where project_id = ? and status in ('pending', 'processing')"
)
_OVER = (
    "select * from chat_delegations where project_id = ? "
    "and status in ('completed', 'failed') order by created_at desc, id limit ?"
)
_FIELDS = (
    *("id", "agent_id", "target_agent_id", "purpose", "status", "created_at"),
    *("processed_at", "task_id", "attempts", "chat_session_id"),
)


def delegation_view() -> View:
    """Return the view ``delegations``: those that are open, and the newest of the others."""
    topics = ("delegations:{project}:{}", "forgotten:chat_delegations")
    return View(name="delegations", topics=topics, read=_read)


async def _read(db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
    rows = await db.all(_OPEN, project_id) + await db.all(_OVER, project_id, _SHOWN_OVER)
    return [Record(id=row["id"], data={name: row[name] for name in _FIELDS}) for row in rows]
