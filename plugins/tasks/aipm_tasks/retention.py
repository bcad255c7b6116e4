"""How long it is remembered which call made a task, and which session had it.

Tasks, their dependencies and their history are the team's memory: nothing deletes them.
"""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention, old_rows

from aipm_tasks.config import TasksConfig

_KEYS = (
    "delete from task_keys where (project_id, agent_id, key) in "
    "(select k.project_id, k.agent_id, k.key from task_keys k join tasks t on t.id = k.task_id "
    "where t.created_at < ? limit ?)"
)
_SESSIONS = (
    "delete from task_sessions where session_id in "
    "(select session_id from task_sessions where freed_at < ? limit ?)"
)


def retention_rules(config: TasksConfig) -> Iterable[Retention]:
    """Return the life of what stands beside the tasks."""
    days = config.keep_days
    yield Retention(name="task_keys", days=days, forget=old_rows(_KEYS, text=True))
    yield Retention(name="task_sessions", days=days, forget=old_rows(_SESSIONS, text=True))
