"""Tasks that nobody is needed for yet, each with the reason."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY, Waiting

from aipm_core import PluginContext, Reader, Row
from aipm_tasks.config import TasksConfig
from aipm_tasks.task_store import TaskStore, task_of
from aipm_tasks.transitions import FINISHED_SQL, is_finished

_OPEN = (
    "select t.*, (select min(d.depends_on) from task_dependencies d join tasks o "
    f"on o.id = d.depends_on where d.task_id = t.id and o.status not in {FINISHED_SQL}) as before "
    "from tasks t where t.status in ('todo', 'blocked') or "
    f"(t.approval_status = 'pending_approval' and t.status not in {FINISHED_SQL}) "
    "order by t.rank, t.seq limit 1000"
)


class TaskWaits:
    """Reads it off the tasks as they are."""

    def __init__(self, ctx: PluginContext[TasksConfig], task_store: TaskStore) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._directory = ctx.services.use(DIRECTORY)

    async def waits(self, db: Reader) -> list[Waiting]:
        """List the tasks that wait for something else than an agent."""
        pools = {one.id for one in await self._directory.projects(db) if one.pool}
        found = []
        for row in await db.all(_OPEN):
            cause, of = await self._cause(db, row, pools)
            if cause:
                found.append(self._waiting(row, cause, of))
        return found

    async def _cause(self, db: Reader, row: Row, pools: set[str]) -> tuple[str, str | None]:
        if row["approval_status"] == "pending_approval":
            return "approval", None
        if row["status"] == "blocked":
            return "blocked", None
        if row["before"] is not None:
            return "dependency", row["before"]
        for above in await self._task_store.ancestors(db, task_of(row)):
            if above.status == "blocked" or is_finished(above.status):
                return "above", above.id
        if row["assignee_id"] is None and row["parent_task_id"] is None:
            return ("pool" if row["project_id"] in pools else "unassigned"), None
        return "", None

    def _waiting(self, row: Row, cause: str, of: str | None) -> Waiting:
        text = self._ctx.texts(f"waits.{cause}", title=row["title"], task=row["id"], of=of)
        return Waiting(
            project_id=row["project_id"],
            agent_id=row["assignee_id"],
            task_id=row["id"],
            cause=cause,
            of=of,
            text=text,
        )
