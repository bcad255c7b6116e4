"""What tasks wait for people for: requests to approve, and blocks that name somebody."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable

from aipm_sessions.api import DIRECTORY, Agent
from aipm_views.api import InboxItem, InboxSource, ItemAction, markdown_tree

from aipm_core import Json, PluginContext, Reader, Row, quoted
from aipm_tasks.api import Task
from aipm_tasks.config import TasksConfig
from aipm_tasks.task_store import task_of
from aipm_tasks.wordings import request_id

_LONGEST_DETAIL = 500
_PENDING = (
    "select * from tasks where project_id = ? and approval_status = 'pending_approval' "
    "order by seq limit 500"
)
_BLOCKED = (
    "select t.*, h.reason, h.at as blocked_at from tasks t join task_history h on h.seq = "
    "(select max(seq) from task_history where task_id = t.id and to_status = 'blocked') "
    "where t.project_id = ? and t.status = 'blocked' and h.reason is not null"
)
_WAYS_ON = {"to_do": "todo", "resume": "in_progress", "cancel": "cancelled"}


class PendingRequests:
    """Every person of the project may approve a request."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)

    def source(self) -> InboxSource:
        """Return it."""
        return InboxSource(name="task_requests", topics=("tasks:{project}",), items=self._items)

    async def _items(self, db: Reader, project_id: str) -> Iterable[InboxItem]:
        rows = await db.all(_PENDING, project_id)
        people = await _people(self._directory.members(db, project_id)) if rows else []
        persons = frozenset(person.id for person in people)
        return [self._item(row, persons) for row in rows]

    def _item(self, row: Row, persons: frozenset[str]) -> InboxItem:
        task = task_of(row)
        named = request_id(task.id, row["wording"])
        asked: dict[str, Json] = {"project_id": task.project_id, "task_id": named}
        key = "inbox.request" if task.assignee_id else "inbox.request_unassigned"
        names = {"requester": task.requester_id or "-", "assignee": task.assignee_id or "-"}
        return InboxItem(
            id=named,
            kind="task_request",
            since=task.created_at,
            persons=persons,
            title=task.title,
            detail=self._ctx.texts(key, **names),
            agent_id=task.assignee_id,
            task_id=task.id,
            actions=(
                ItemAction(name="approve", tool="approve_task_request", arguments=asked),
                ItemAction(name="reject", tool="reject_task_request", arguments=asked),
            ),
            more={
                "requester_id": task.requester_id,
                "priority": task.priority,
                "description": task.description,
                "description_md": markdown_tree(task.description),
            },
        )


class BlockedTasks:
    """A block waits for those whom its reason names, by id or by name."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)

    def source(self) -> InboxSource:
        """Return it."""
        return InboxSource(name="blocked_tasks", topics=("tasks:{project}",), items=self._items)

    async def _items(self, db: Reader, project_id: str) -> Iterable[InboxItem]:
        rows = await db.all(_BLOCKED, project_id)
        people = await _people(self._directory.members(db, project_id)) if rows else []
        found = ((row, frozenset(p.id for p in people if names(row["reason"], p))) for row in rows)
        return [self._item(row, persons) for row, persons in found if persons]

    def _item(self, row: Row, persons: frozenset[str]) -> InboxItem:
        task = task_of(row)
        reason = quoted(row["reason"], _LONGEST_DETAIL)
        return InboxItem(
            id=f"blk_{task.id}",
            kind="blocked",
            since=row["blocked_at"],
            persons=persons,
            title=task.title,
            detail=self._ctx.texts("inbox.blocked", by=row["blocked_by"] or "-", reason=reason),
            level="WARN",
            agent_id=task.assignee_id,
            task_id=task.id,
            actions=tuple(_ways_on(task)),
            more={"blocked_by": row["blocked_by"], "reason": row["reason"]},
        )


def _ways_on(task: Task) -> Iterable[ItemAction]:
    for name, status in _WAYS_ON.items():
        asked: dict[str, Json] = {"project_id": task.project_id, "task_id": task.id}
        yield ItemAction(name=name, tool="move_task", arguments=asked | {"status": status})


def names(text: str, person: Agent) -> bool:
    """Return whether a text names a person: by the id, or by the name as a word of its own."""
    if re.search(rf"(?<![a-z0-9_-]){re.escape(person.id)}(?![a-z0-9_-])", text, re.IGNORECASE):
        return True
    if not person.name:
        return False
    if not person.name.isascii():  # words of such languages have no blanks between them
        return person.name in text
    return re.search(rf"(?<!\w){re.escape(person.name)}(?!\w)", text, re.IGNORECASE) is not None


async def _people(members: Awaitable[list[Agent]]) -> list[Agent]:
    return [member for member in await members if member.kind == "human"]
