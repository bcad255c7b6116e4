"""What people see of questions: in their inbox, at the sessions that wait, and afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from aipm_sessions.api import DIRECTORY
from aipm_views.api import Activity, ActivitySource, InboxItem, InboxSource, ItemAction, ViewFields

from aipm_core import Json, PluginContext, Reader, Row, iso
from aipm_policy.config import PolicyConfig

_TOPICS = ("confirmations:{project}",)
_OPEN = (
    "select * from confirmations where project_id = ? and status = 'pending' "
    "order by created_at, id limit 1000"
)
_ASKED = "select * from confirmations where project_id = ? order by created_at desc limit ?"
_ANSWERED = (
    "select * from confirmations where project_id = ? and answered_at is not null "
    "order by answered_at desc limit ?"
)


class ConfirmationViews:
    """Confirmations wait for every person of their project."""

    def __init__(self, ctx: PluginContext[PolicyConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)

    def inbox(self) -> InboxSource:
        """Return what waits for an answer."""
        return InboxSource(name="confirmations", topics=_TOPICS, items=self._items)

    def waiting_sessions(self) -> ViewFields:
        """Return what sessions wait for."""
        return ViewFields(view="sessions", name="confirmation", topics=_TOPICS, read=self._waiting)

    def activity(self) -> ActivitySource:
        """Return what was asked and answered."""
        topics = (*_TOPICS, "forgotten:confirmations")
        return ActivitySource(name="confirmations", topics=topics, recent=self._recent)

    async def _items(self, db: Reader, project_id: str) -> Iterable[InboxItem]:
        rows = await db.all(_OPEN, project_id)
        members = await self._directory.members(db, project_id) if rows else []
        people = frozenset(member.id for member in members if member.kind == "human")
        return [self._item(row, people) for row in rows]

    def _item(self, row: Row, people: frozenset[str]) -> InboxItem:
        arguments = json.loads(row["args"])
        task_id = arguments.get("task_id")
        return InboxItem(
            id=row["id"],
            kind="confirmation",
            since=row["created_at"],
            persons=people - {row["first_yes_by"]},
            title=self._ctx.texts("inbox.title", agent=row["agent_id"], tool=row["tool"]),
            detail=self._detail(row),
            level=row["level"],
            agent_id=row["agent_id"],
            task_id=task_id if isinstance(task_id, str) else None,
            deadline=iso(row["expires_at"]),
            actions=tuple(_answers(row)),
            more={
                "session_id": row["session_id"],
                "tool": row["tool"],
                "arguments": arguments,
                "arguments_json": row["args"],
                "digest": row["args_digest"],
                "rule": row["rule"],
                "approvers": row["approvers"],
                "first_yes_by": row["first_yes_by"],
                "message": row["message"],
                "expires_at": iso(row["expires_at"]),
            },
        )

    def _detail(self, row: Row) -> str:
        if row["approvers"] == 1:
            return str(row["message"])
        key = "inbox.first_yes" if row["first_yes_by"] else "inbox.two_people"
        return f"{row['message']} – {self._ctx.texts(key, person=row['first_yes_by'])}"

    async def _waiting(
        self, db: Reader, project_id: str, ids: frozenset[str]
    ) -> Mapping[str, Mapping[str, Json]]:
        fields: dict[str, dict[str, Json]] = {each: {"confirmation_id": None} for each in ids}
        for row in reversed(await db.all(_OPEN, project_id)):  # the oldest has the last word
            waits = {"state": "awaiting_confirmation", "confirmation_id": row["id"]}
            fields[row["session_id"]] = waits
        return fields

    async def _recent(self, db: Reader, project_id: str, limit: int) -> Iterable[Activity]:
        asked = [
            _activity(row, "asked", row["created_at"], row["agent_id"])
            for row in await db.all(_ASKED, project_id, limit)
        ]
        answered = [
            _activity(row, row["status"], row["answered_at"], row["answered_by"])
            for row in await db.all(_ANSWERED, project_id, limit)
        ]
        return asked + answered


def _answers(row: Row) -> Iterable[ItemAction]:
    tool = "provide_confirmation"
    asked: dict[str, Json] = {"project_id": row["project_id"], "confirmation_id": row["id"]}
    longer = (("approve_session", "session"), ("approve_always", "always"))
    for name, scope in (("approve", "once"), *(longer if row["approvers"] == 1 else ())):
        yield ItemAction(name=name, tool=tool, arguments=asked | {"approved": True, "scope": scope})
    yield ItemAction(name="deny", tool=tool, arguments=asked | {"approved": False})


def _activity(row: Row, verb: str, at: str, actor: str | None) -> Activity:
    return Activity(
        id=f"confirmation.{'asked' if verb == 'asked' else 'answered'}:{row['id']}",
        at=at,
        actor_id=actor,
        verb=f"confirmation.{verb}",
        what=row["tool"],
        view="inbox",
        ref=row["id"],
        after=row["agent_id"],
    )
