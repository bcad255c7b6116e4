"""Which tasks a block above them holds: they have not begun, and cannot before it is lifted."""

from __future__ import annotations

from aipm_core import Reader, Tx
from aipm_tasks.task_store import agent_topic, task_topic
from aipm_tasks.transitions import FINISHED_SQL

# A blocked task that stands below another one holds what is below itself: the nearest counts.
HELD = (
    "with recursive below (id, status, held_by) as ("
    "select t.id, t.status, b.id from tasks b join tasks t on t.parent_task_id = b.id "
    "where b.project_id = ? and b.status = 'blocked' union all "
    "select t.id, t.status, o.held_by from below o join tasks t on t.parent_task_id = o.id "
    "where o.status <> 'blocked') "
    "select id, held_by from below where status in ('backlog', 'todo')"
)
_BELOW = (
    "with recursive below (id, assignee_id) as ("
    f"select id, assignee_id from tasks where parent_task_id = ? and status not in {FINISHED_SQL} "
    "union all select t.id, t.assignee_id from below o join tasks t on t.parent_task_id = o.id "
    f"where t.status not in {FINISHED_SQL}) select id, assignee_id from below"
)


async def held_by(db: Reader, project_id: str) -> dict[str, str]:
    """Return the tasks of a project that have not begun, each with the blocked one above it."""
    return {row["id"]: row["held_by"] for row in await db.all(HELD, project_id)}


async def wake_below(tx: Tx, project_id: str, task_id: str) -> None:
    """Wake who looks at a task below one that was blocked or freed, and who could begin it."""
    rows = await tx.all(_BELOW, task_id)
    agents = {row["assignee_id"] for row in rows} - {None}
    tx.wake(*(task_topic(project_id, row["id"]) for row in rows))
    tx.wake(*(agent_topic(project_id, agent) for agent in agents))
