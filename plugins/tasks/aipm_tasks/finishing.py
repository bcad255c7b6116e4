"""What only people do with tasks: open finished ones again, put them away, delete them."""

from __future__ import annotations

from aipm_core import PluginContext, Tx
from aipm_tasks.api import Task
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.task_store import TaskStore, project_topic, task_topic
from aipm_tasks.transitions import is_finished

# In the order in which they refer to each other.
_ROWS = (
    "delete from task_history where task_id = ?",
    "delete from task_keys where task_id = ?",
    "delete from task_sessions where task_id = ?",
    "delete from task_dependencies where task_id = ?",
    "delete from task_dependencies where depends_on = ?",
    "delete from tasks where id = ?",
)


class Finishing:
    """Beside the table of moves, in which done and cancelled are final for everybody."""

    def __init__(
        self, ctx: PluginContext[TasksConfig], task_store: TaskStore, bindings: Bindings
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._bindings = bindings

    async def reopen(self, tx: Tx, task: Task, *, actor_id: str, reason: str | None) -> Task:
        """Put a finished task back to todo; what it reported stays in its history."""
        if not is_finished(task.status):
            raise self._ctx.refuse("task_not_finished", 409, task_id=task.id, status=task.status)
        if task.approval_status != "approved":
            state = {"task_id": task.id, "approval": task.approval_status}
            raise self._ctx.refuse("task_not_approved", 409, **state)
        for parent in await self._task_store.ancestors(tx, task):
            if is_finished(parent.status):
                about = {"parent_id": parent.id, "status": parent.status}
                raise self._ctx.refuse("parent_to_reopen", 409, **about)
        await tx.run(
            "update tasks set status = 'todo', result = null, summary = null, archived_at = null, "
            "updated_at = ? where id = ?",
            *(self._ctx.now(), task.id),
        )
        return await self._task_store.changed(
            tx, task, actor_id=actor_id, what="reopened", to="todo", reason=reason
        )

    async def archive(self, tx: Tx, task: Task, *, archived: bool, actor_id: str) -> Task:
        """Leave a finished task out of lists, or bring it back."""
        if archived and not is_finished(task.status):
            raise self._ctx.refuse("task_not_finished", 409, task_id=task.id, status=task.status)
        now = self._ctx.now()
        changed = await tx.run(
            "update tasks set archived_at = ? where id = ? and (archived_at is null) = ?",
            *(now if archived else None, task.id, archived),
        )
        if not changed:
            return task
        what = "archived" if archived else "unarchived"
        return await self._task_store.changed(tx, task, actor_id=actor_id, what=what)

    async def delete(self, tx: Tx, task: Task) -> None:
        """Delete a task that nobody is at work on, with its history."""
        if task.status == "in_progress":
            raise self._ctx.refuse("task_in_progress", 409, task_id=task.id)
        if children := await self._task_store.children(tx, task.id):
            below = ", ".join(child.id for child in children)
            raise self._ctx.refuse("task_has_subtasks", 409, task_id=task.id, below=below)
        waiting = await tx.all(
            "select task_id from task_dependencies where depends_on = ?", task.id
        )
        await self._bindings.free_task(tx, task.id)
        for sql in _ROWS:
            await tx.run(sql, task.id)
        concerned = (task.id, *(row["task_id"] for row in waiting))
        tx.wake(*(task_topic(task.project_id, each) for each in concerned))
        tx.wake(project_topic(task.project_id))
