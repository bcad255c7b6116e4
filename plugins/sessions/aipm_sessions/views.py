"""What people see of a project, its members and their sessions."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_views.api import Activity, ActivitySource, Ids, Record, View

from aipm_core import Json, Reader, Row, iso
from aipm_sessions.last_seen import minute_of

_MEMBERS = (
    "select a.id, a.name, a.kind, a.role, a.parent_id, a.created_at, exists (select 1 "
    "from sessions s where s.project_id = p.project_id and s.agent_id = a.id "
    "and s.ended_at is null) as online from agents a join project_agents p on p.agent_id = a.id "
    "where p.project_id = ? order by a.id"
)
_PROJECT = (
    "select p.*, exists (select 1 from project_pauses u where u.project_id = p.id) as paused "
    "from projects p where p.id = ?"
)
_COUNT = (
    "select a.kind, count(*) as n from agents a join project_agents p on p.agent_id = a.id "
    "where p.project_id = ? group by a.kind"
)
_LIVE = "select * from sessions where project_id = ? and ended_at is null"
_OPENED = "select * from sessions where project_id = ? order by created_at desc limit ?"
_ENDED = (
    "select * from sessions where project_id = ? and ended_at is not null "
    "order by ended_at desc limit ?"
)


class MemberViews:
    """The views ``project`` and ``members``."""

    def views(self) -> Iterable[View]:
        """Return both."""
        members = "members:{project}"
        yield View(name="project", topics=("project:{project}", members), read=self._project)
        yield View(name="members", topics=(members, "sessions:{project}"), read=self._members)

    async def _project(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        row = await db.one(_PROJECT, project_id)
        if row is None:
            return []
        counts = {each["kind"]: each["n"] for each in await db.all(_COUNT, project_id)}
        data: dict[str, Json] = {
            "id": row["id"],
            "name": row["name"],
            "created_at": row["created_at"],
            "has_directory": row["directory"] is not None,
            "paused": bool(row["paused"]),
            "pool": bool(row["pool"]),
            "agents": counts.get("ai", 0),
            "people": counts.get("human", 0),
        }
        return [Record(id=row["id"], data=data)]

    async def _members(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        return [
            Record(
                id=row["id"],
                data={
                    "id": row["id"],
                    "name": row["name"],
                    "kind": row["kind"],
                    "role": row["role"],
                    "parent_id": row["parent_id"],
                    "created_at": row["created_at"],
                    "online": bool(row["online"]),
                },
            )
            for row in await db.all(_MEMBERS, project_id)
        ]


class SessionViews:
    """The view ``sessions``: those that have not ended. No token is in it, in any form."""

    def views(self) -> Iterable[View]:
        """Return it."""
        topics = ("sessions:{project}", "session_seen:{project}:{id}")
        yield View(name="sessions", topics=topics, read=self._sessions)

    async def _sessions(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        if ids is None:
            rows = await db.all(_LIVE, project_id)
        else:
            places = ", ".join("?" for _ in ids)
            rows = await db.all(f"{_LIVE} and id in ({places})", project_id, *ids)
        return [Record(id=row["id"], data=_shown(row)) for row in rows]

    def activity(self) -> ActivitySource:
        """Tell of sessions that opened and ended."""
        topics = ("sessions:{project}", "forgotten:sessions")
        return ActivitySource(name="sessions", topics=topics, recent=self._recent)

    async def _recent(self, db: Reader, project_id: str, limit: int) -> Iterable[Activity]:
        opened = [
            _activity(row, "opened", row["created_at"], row["purpose"])
            for row in await db.all(_OPENED, project_id, limit)
        ]
        ended = [
            _activity(row, "ended", row["ended_at"], row["end_reason"])
            for row in await db.all(_ENDED, project_id, limit)
        ]
        return opened + ended


def _shown(row: Row) -> dict[str, Json]:
    return {
        "id": row["id"],
        "agent_id": row["agent_id"],
        "purpose": row["purpose"],
        "state": "open",
        "since": row["created_at"],
        "last_seen": iso(minute_of(row["last_seen"])),
        "ends_at": iso(row["ends_at"]),
    }


def _activity(row: Row, verb: str, at: str, after: str | None) -> Activity:
    return Activity(
        id=f"session.{verb}:{row['id']}",
        at=at,
        actor_id=row["agent_id"],
        verb=f"session.{verb}",
        what=row["purpose"],
        view="sessions",
        ref=row["id"],
        after=after,
    )
