"""What people see of conversations: who talks with whom, and not what is said."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_views.api import Activity, ActivitySource, Ids, Record, View

from aipm_core import Json, Reader, Row, iso

_SHOWN_OVER = 100
_TOPICS = ("conversations:{project}:{}",)
_OPEN = "select * from conversations where project_id = ? and state in ('pending', 'active')"
_OVER = (
    "select * from conversations where project_id = ? and ended_at is not null "
    "order by ended_at desc, id limit ?"
)
_STARTED = "select * from conversations where project_id = ? order by created_at desc, id limit ?"
_FIELDS = (
    *("id", "initiator_id", "participant_id", "purpose", "state", "turns", "max_turns"),
    *("task_id", "delegation_id", "created_at", "ended_at", "ended_by", "end_reason"),
)


class ConversationView:
    """The view ``conversations``: those that are open, and those that ended last."""

    def view(self) -> View:
        """Return it."""
        return View(name="conversations", topics=_TOPICS, read=self._read)

    def activity(self) -> ActivitySource:
        """Tell of conversations that start and end."""
        return ActivitySource(name="conversations", topics=_TOPICS, recent=self._recent)

    async def _read(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        rows = await db.all(_OPEN, project_id) + await db.all(_OVER, project_id, _SHOWN_OVER)
        return [Record(id=row["id"], data=_shown(row)) for row in rows]

    async def _recent(self, db: Reader, project_id: str, limit: int) -> Iterable[Activity]:
        started = [
            _activity(row, "started", row["created_at"], row["initiator_id"])
            for row in await db.all(_STARTED, project_id, limit)
        ]
        ended = [
            _activity(row, "ended", row["ended_at"], row["ended_by"])
            for row in await db.all(_OVER, project_id, limit)
        ]
        return started + ended


def _shown(row: Row) -> dict[str, Json]:
    return {name: row[name] for name in _FIELDS} | {"due_at": iso(row["due_at"])}


def _activity(row: Row, verb: str, at: str, actor: str | None) -> Activity:
    return Activity(
        id=f"conversation.{verb}:{row['id']}",
        at=at,
        actor_id=actor,
        verb=f"conversation.{verb}",
        what=row["purpose"] or "",
        view="conversations",
        ref=row["id"],
        after=row["participant_id"] if verb == "started" else row["end_reason"],
    )
