"""Keys by which a repeated ``create_task`` is recognised."""

from __future__ import annotations

from aipm_core import PluginContext, Session, Tx
from aipm_tasks.config import TasksConfig


class CreationKeys:
    """Remembers which task a key made, and of which arguments."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx

    async def known(self, tx: Tx, session: Session, key: str | None, digest: str) -> str | None:
        """Return the id of the task this key made; refuse the key with other arguments."""
        row = await tx.one(
            "select task_id, digest from task_keys "
            "where project_id = ? and agent_id = ? and key = ?",
            *(session.project_id, session.agent_id, key),
        )
        if row is None:
            return None
        if row["digest"] not in (None, digest):  # none: made before arguments were kept
            raise self._ctx.refuse("idempotency_conflict", 409, task_id=row["task_id"])
        return str(row["task_id"])

    async def remember(
        self, tx: Tx, session: Session, key: str | None, digest: str, task_id: str
    ) -> None:
        """Keep a key with the task it made."""
        if key is not None:
            await tx.run(
                "insert into task_keys (project_id, agent_id, key, task_id, digest) "
                "values (?, ?, ?, ?, ?)",
                *(session.project_id, session.agent_id, key, task_id, digest),
            )
