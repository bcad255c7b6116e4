"""What people see of notifications: whether they have reached their agents, and not their text."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_views.api import Ids, Record, View

from aipm_core import Json, Reader, Row, iso

_SHOWN = 200
# Of a new message the view of chats tells already.
_NEWEST = (
    "select * from notifications where project_id = ? and type <> 'new_message' "
    "order by seq desc limit ?"
)


def read_topic(project_id: str, notification_id: str) -> str:
    """Name what is woken when a notification is read."""
    return f"notification_read:{project_id}:{notification_id}"


def notification_view() -> View:
    """Return the view ``notifications``: the newest, read or not."""
    topics = (
        *("inbox:{project}:{}", "notification_read:{project}:{}"),
        *("forgotten:notifications", "forgotten:unread notifications"),
    )
    return View(name="notifications", topics=topics, read=_read)


async def _read(db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
    rows = await db.all(_NEWEST, project_id, _SHOWN)
    return [Record(id=row["id"], data=_shown(row)) for row in rows]


def _shown(row: Row) -> dict[str, Json]:
    return {
        "id": row["id"],
        "agent_id": row["agent_id"],
        "type": row["type"],
        "action": row["action"],
        "audience": row["audience"] or None,
        "task_id": row["task_id"],
        "session_id": row["session_id"],
        "created_at": row["created_at"],
        "expires_at": iso(row["expires_at"]),
        "read_at": None if row["read_at"] is None else iso(row["read_at"]),
    }
