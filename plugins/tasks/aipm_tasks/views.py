"""What people see of tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from aipm_views.api import Activity, ActivitySource, Ids, Record, View, ViewFields, markdown_tree

from aipm_core import Json, Reader, Row
from aipm_tasks.holding import HELD
from aipm_tasks.task_store import shown, task_of
from aipm_tasks.transitions import FINISHED_SQL, NEXT, is_finished
from aipm_tasks.wordings import request_id

SHOWN_FINISHED = 200
"""How many finished tasks are shown: those that were changed last."""
_MOST_IDS = 500
_TASKS = "select * from tasks where project_id = ? and archived_at is null"
_UNFINISHED = f"{_TASKS} and status in ('backlog', 'todo', 'in_progress', 'blocked')"
_FINISHED = f"{_TASKS} and status in {FINISHED_SQL} order by updated_at desc, seq desc"
_WAITS = (
    "select d.task_id, d.depends_on, o.status from task_dependencies d "
    "join tasks o on o.id = d.depends_on join tasks t on t.id = d.task_id where t.project_id = ?"
)
_HELD = "select task_id, session_id from task_sessions where project_id = ? and freed_at is null"
_REASON = (
    "select reason from task_history where task_id = ? and to_status = 'blocked' "
    "order by seq desc limit 1"
)


@dataclass(slots=True)
class _Around:
    """What stands beside the tasks that are shown."""

    waits: dict[str, list[Row]] = field(default_factory=lambda: defaultdict(list))
    held: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, str | None] = field(default_factory=dict)
    above: dict[str, str] = field(default_factory=dict)


class TaskView:
    """The view ``tasks``: everything that is not finished, and what was finished last."""

    def view(self) -> View:
        """Return it."""
        return View(name="tasks", topics=("task:{project}:{id}",), read=self.read)

    async def read(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        """Return the records of these tasks, and of those that come or go in their stead."""
        if ids is None:
            rows = await self._all(db, project_id)
            last = None
        else:
            rows, last = await self._some(db, project_id, ids)
        around = await self._around(db, project_id, rows, whole=ids is None)
        return [
            Record(id=row["id"], data=_task(row, around) if _is_shown(row, last) else None)
            for row in rows
        ]

    async def _all(self, db: Reader, project_id: str) -> list[Row]:
        rows = await db.all(_UNFINISHED, project_id)
        return rows + await db.all(f"{_FINISHED} limit ?", project_id, SHOWN_FINISHED)

    async def _some(
        self, db: Reader, project_id: str, ids: frozenset[str]
    ) -> tuple[list[Row], tuple[str, int] | None]:
        """Return these tasks, those near the edge of what is shown, and the last that is shown.

        So many changes cannot move the edge by more than their number.
        """
        above = max(SHOWN_FINISHED - len(ids), 0)
        last = SHOWN_FINISHED - above - 1
        near = await db.all(f"{_FINISHED} limit ? offset ?", project_id, last + 1 + len(ids), above)
        rows = {row["id"]: row for row in near}
        for some in _chunks(sorted(ids)):
            places = ", ".join("?" for _ in some)
            found = await db.all(f"{_TASKS} and id in ({places})", project_id, *some)
            rows |= {row["id"]: row for row in found}
        return list(rows.values()), _place(near[last]) if len(near) > last else None

    async def _around(
        self, db: Reader, project_id: str, rows: Sequence[Row], *, whole: bool
    ) -> _Around:
        around = _Around()
        for sql, params in _asked(project_id, [row["id"] for row in rows], whole=whole):
            for row in await db.all(_WAITS + sql.format("d.task_id"), *params):
                around.waits[row["task_id"]].append(row)
            for row in await db.all(_HELD + sql.format("task_id"), *params):
                around.held[row["task_id"]] = row["session_id"]
            for row in await db.all(HELD + sql.format("id"), *params):
                around.above[row["id"]] = row["held_by"]
        for row in rows:
            if row["status"] == "blocked":
                reason = await db.one(_REASON, row["id"])
                around.reasons[row["id"]] = reason["reason"] if reason else None
        return around


def _asked(
    project_id: str, ids: Sequence[str], *, whole: bool
) -> Iterable[tuple[str, tuple[str, ...]]]:
    if whole:
        yield "", (project_id,)
        return
    for some in _chunks(ids):
        yield f" and {{}} in ({', '.join('?' for _ in some)})", (project_id, *some)


def _chunks(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    return (ids[start : start + _MOST_IDS] for start in range(0, len(ids), _MOST_IDS))


def _place(row: Row) -> tuple[str, int]:
    return row["updated_at"], row["seq"]


def _is_shown(row: Row, last: tuple[str, int] | None) -> bool:
    return not is_finished(row["status"]) or last is None or _place(row) >= last


def _task(row: Row, around: _Around) -> dict[str, Json]:
    task, waits = task_of(row), around.waits.get(row["id"], [])
    pending = task.approval_status == "pending_approval"
    return {
        **shown(task),
        "dependencies": sorted(each["depends_on"] for each in waits),
        "waits_for": sorted(
            each["depends_on"] for each in waits if not is_finished(each["status"])
        ),
        "held_by": around.above.get(task.id),
        "blocked_by": row["blocked_by"],
        "block_reason": around.reasons.get(task.id),
        "session_id": around.held.get(task.id),
        "started_at": row["started_at"],
        "result": row["result"],
        "summary": row["summary"],
        "request_id": request_id(task.id, row["wording"]) if pending else None,
        "description_md": markdown_tree(task.description),
    }


class TaskFields:
    """What tasks add to the records of projects and sessions."""

    def all(self) -> Iterable[ViewFields]:
        """Return both."""
        yield ViewFields(
            view="project", name="task_counts", topics=("tasks:{project}",), read=self._counts
        )
        topics = ("task_bindings:{project}",)
        yield ViewFields(view="sessions", name="held_task", topics=topics, read=self._held)

    async def _counts(
        self, db: Reader, project_id: str, ids: frozenset[str]
    ) -> Mapping[str, Mapping[str, Json]]:
        rows = await db.all(
            "select status, count(*) as n from tasks where project_id = ? group by status",
            project_id,
        )
        found = {row["status"]: row["n"] for row in rows}
        return {project_id: {"tasks": {status: found.get(status, 0) for status in NEXT}}}

    async def _held(
        self, db: Reader, project_id: str, ids: frozenset[str]
    ) -> Mapping[str, Mapping[str, Json]]:
        held = {row["session_id"]: row["task_id"] for row in await db.all(_HELD, project_id)}
        return {session_id: {"task_id": held.get(session_id)} for session_id in ids}


class TaskHistory:
    """What tasks add to the activity of a project."""

    def source(self) -> ActivitySource:
        """Return it."""
        return ActivitySource(name="tasks", topics=("tasks:{project}",), recent=self._recent)

    async def _recent(self, db: Reader, project_id: str, limit: int) -> Iterable[Activity]:
        rows = await db.all(
            "select h.*, t.title from task_history h join tasks t on t.id = h.task_id "
            "where h.project_id = ? order by h.seq desc limit ?",
            *(project_id, limit),
        )
        return [
            Activity(
                id=f"task:{row['seq']}",
                at=row["at"],
                actor_id=row["actor_id"],
                verb=f"task.{row['what']}",
                what=row["title"],
                view="tasks",
                ref=row["task_id"],
                before=row["from_status"],
                after=row["to_status"],
            )
            for row in rows
        ]
