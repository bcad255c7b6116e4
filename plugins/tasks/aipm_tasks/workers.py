"""Whom a stop of a task concerns: who works on it, and nobody with other work."""

from __future__ import annotations

from aipm_sessions.api import SESSIONS

from aipm_core import PluginContext, Reader
from aipm_tasks.api import Task
from aipm_tasks.config import TasksConfig

_SESSIONS_AT = "select session_id from task_sessions where task_id = ? order by bound_at desc"
# A subtask of one's own task is worked on in that task's session.
_ONE = "select id, parent_task_id from tasks where id = ? and assignee_id = ?"


class Workers:
    """Looks up the sessions that have not ended."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._sessions = ctx.services.use(SESSIONS)

    async def to_stop(self, db: Reader, task: Task) -> tuple[str | None, bool]:
        """Return the session to stop, and whether anybody is to be stopped at all.

        Who worked on it and is gone cannot be stopped, and whoever works on something else must
        not be. Nobody named, but somebody to stop: the agent's next session, as none is there yet.
        """
        known = await self._at(db, task)
        live = await self._sessions.live(db, task.project_id, task.assignee_id)
        free = [one.session.id for one in live if one.session.purpose == "task"]
        for session_id in known:
            if session_id in free:
                return session_id, True
        if known:
            return None, False
        idle = [one for one in free if await self._is_idle(db, one)]
        return (idle[0], True) if idle else (None, not free)

    async def _at(self, db: Reader, task: Task) -> list[str]:
        """List the sessions that have worked on a task, or on the one it is worked on with."""
        found: list[str] = []
        row = await db.one(_ONE, task.id, task.assignee_id)
        while row is not None:
            rows = await db.all(_SESSIONS_AT, row["id"])
            found += [one["session_id"] for one in rows]
            row = await db.one(_ONE, row["parent_task_id"], task.assignee_id)
        return found

    async def _is_idle(self, db: Reader, session_id: str) -> bool:
        sql = "select 1 from task_sessions where session_id = ?"
        return await db.one(sql, session_id) is None
