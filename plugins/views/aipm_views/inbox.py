"""The view ``inbox``: what waits for each person, with what they noted about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from aipm_sessions.api import Directory, is_operator

from aipm_core import Json, Reader, Row, Session, iso
from aipm_views.api import Ids, InboxItem, InboxSource, Record

INBOX_TOPICS = (
    *("inbox_notes:{project}", "members:{project}"),
    *("forgotten:inbox_snoozes", "forgotten:inbox_handovers"),
)


def notes_topic(project_id: str) -> str:
    """Name what is woken when somebody snoozes an item or hands it over."""
    return f"inbox_notes:{project_id}"


@dataclass(frozen=True, slots=True)
class Notes:
    """What people noted about the items of a project."""

    snoozes: Mapping[tuple[str, str], str]
    """Until when, by item and person."""
    handovers: Mapping[str, list[Row]]
    """By item; those to somebody who has left the project count for nothing."""

    def holders(self, item: InboxItem) -> frozenset[str]:
        """Return whom an item waits for, after everybody who left it to somebody else."""
        left = {row["from_id"]: row["to_id"] for row in self._of(item)}
        return frozenset(_last(left, person_id) for person_id in item.persons)

    def given_to(self, item: InboxItem, person_id: str) -> Row | None:
        """Return the newest handover of an item to a person."""
        rows = [row for row in self._of(item) if row["to_id"] == person_id]
        return max(rows, key=lambda row: row["at"], default=None)

    def _of(self, item: InboxItem) -> Iterable[Row]:
        """Leave out what is older than the item: a task can be blocked again, under the same id."""
        rows = self.handovers.get(item.id, ())
        return (row for row in rows if iso(row["at"]) >= item.since)


def _last(left: Mapping[str, str], person_id: str) -> str:
    for _ in left:
        person_id = left.get(person_id, person_id)
    return person_id


class PeoplesInboxes:
    """What waits for a person in several projects, read where it is asked."""

    def __init__(self, sources: Callable[[], Iterable[InboxSource]], directory: Directory) -> None:
        self._sources = sources
        self._directory = directory

    async def items(
        self, db: Reader, person: Session, projects: list[str]
    ) -> dict[str, dict[str, Json] | None]:
        """Return what waits by id, ``None`` for what waits for others only.

        For the operator everything waits, but what only one person can answer.
        """
        found: dict[str, dict[str, Json] | None] = {}
        for project_id in projects:
            notes = await _notes(db, project_id, self._directory)
            for source in self._sources():
                for item in await source.items(db, project_id):
                    mine = _concerns(item, person, notes)
                    shown = _shown(item, person.agent_id, notes) | {"project_id": project_id}
                    found[item.id] = shown if mine else None
        return found


def _concerns(item: InboxItem, person: Session, notes: Notes) -> bool:
    if is_operator(person):
        return not item.personal
    return person.agent_id in notes.holders(item)


class InboxReader:
    """Turns the items of one source into records, one for each person."""

    def __init__(self, source: InboxSource, directory: Directory) -> None:
        self._source = source
        self._directory = directory

    async def read(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        """Return the records of all items of a project."""
        items = list(await self._source.items(db, project_id))
        notes = await _notes(db, project_id, self._directory)
        return [
            Record(
                id=item.id,
                data=_shown(item, person_id, notes),
                viewers=frozenset((person_id,)),
            )
            for item in items
            for person_id in notes.holders(item)
        ]


async def _notes(db: Reader, project_id: str, directory: Directory) -> Notes:
    snoozes = await db.all("select * from inbox_snoozes where project_id = ?", project_id)
    handovers: dict[str, list[Row]] = defaultdict(list)
    rows = await db.all("select * from inbox_handovers where project_id = ?", project_id)
    there = {one.id for one in await directory.members(db, project_id)} if rows else set()
    for row in rows:
        if row["to_id"] in there:
            handovers[row["item_id"]].append(row)
    return Notes({(row["item_id"], row["person_id"]): row["until"] for row in snoozes}, handovers)


def _shown(item: InboxItem, person_id: str, notes: Notes) -> dict[str, Json]:
    handed = notes.given_to(item, person_id)
    return {
        **item.more,
        "id": item.id,
        "kind": item.kind,
        "since": item.since,
        "deadline": item.deadline,
        "agent_id": item.agent_id,
        "task_id": item.task_id,
        "title": item.title,
        "detail": item.detail,
        "level": item.level,
        "actions": [
            {"name": action.name, "tool": action.tool, "arguments": dict(action.arguments)}
            for action in item.actions
        ],
        "personal": item.personal,
        "snoozed_until": notes.snoozes.get((item.id, person_id)),
        "handed_over_by": handed["from_id"] if handed else None,
        "hand_over_note": handed["note"] if handed else None,
    }
