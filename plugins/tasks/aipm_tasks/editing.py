"""Changes what a task says and whose it is, together with what that entails."""

from __future__ import annotations

from dataclasses import replace

from aipm_notifications.api import INBOX
from aipm_sessions.api import DIRECTORY

from aipm_core import PluginContext, Reader, Tx, quoted
from aipm_tasks.api import Task
from aipm_tasks.approvers import Approvers
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.creation import Creation
from aipm_tasks.interrupts import Interrupts
from aipm_tasks.task_store import TaskStore
from aipm_tasks.transitions import RANKS, is_finished


class Editing:
    """The only writer of a task's words, priority and assignee, once it is made."""

    def __init__(
        self,
        ctx: PluginContext[TasksConfig],
        task_store: TaskStore,
        bindings: Bindings,
        creation: Creation,
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._bindings = bindings
        self._creation = creation
        self._approvers = Approvers(ctx)
        self._interrupts = Interrupts(ctx)
        self._directory = ctx.services.use(DIRECTORY)
        self._inbox = ctx.services.find(INBOX)

    async def rewrite(
        self, tx: Tx, task: Task, wanted: Task, *, actor_id: str, reason: str | None = None
    ) -> Task:
        """Give a task the title, description and priority of ``wanted``."""
        await tx.run(
            "update tasks set title = ?, description = ?, priority = ?, rank = ?, updated_at = ? "
            "where id = ?",
            *(wanted.title, wanted.description, wanted.priority, RANKS[wanted.priority]),
            *(self._ctx.now(), task.id),
        )
        edited = await self._task_store.changed(
            tx, task, actor_id=actor_id, what="edited", reason=reason
        )
        await self._approvers.tell_again(tx, task, edited)
        return edited

    async def edit(self, tx: Tx, task: Task, wanted: Task, *, actor_id: str) -> Task:
        """Change an unfinished task; the agent that is at work on it is told."""
        self._check_unfinished(task)
        edited = await self.rewrite(tx, task, wanted, actor_id=actor_id)
        at_work = task.status == "in_progress" and task.assignee_id not in (None, actor_id)
        if at_work and self._inbox is not None:
            await self._inbox.put(
                tx,
                agent_id=str(task.assignee_id),
                project_id=task.project_id,
                type="message",
                action="task_edited",
                message=self._ctx.texts("edited.message", title=quoted(edited.title)),
                instruction=self._ctx.texts("edited.instruction", task_id=task.id),
                audience="task",
                task_id=task.id,
            )
        return edited

    async def assign(self, tx: Tx, task: Task, assignee_id: str | None, *, actor_id: str) -> Task:
        """Give an unfinished task to another agent, or to nobody.

        One that is in progress goes back to todo, and the agent that was at work on it is stopped.
        """
        self._check_unfinished(task)
        await self.check_assignee(tx, assignee_id, task.project_id)
        if assignee_id == task.assignee_id:
            return task
        before = task
        if task.status == "in_progress":
            await self._interrupts.send(tx, [task], "reassigned", actor_id=actor_id, reason=None)
            await self._bindings.free_task(tx, task.id)
            task = await self._task_store.set_status(
                tx, task, "todo", actor_id=actor_id, reason=self._ctx.texts("stopped.given_away")
            )
        await tx.run(
            "update tasks set assignee_id = ?, updated_at = ? where id = ?",
            *(assignee_id, self._ctx.now(), task.id),
        )
        assigned = await self._task_store.changed(tx, task, actor_id=actor_id, what="assigned")
        await self._approvers.tell_again(tx, before, assigned)
        return assigned

    async def depend(self, tx: Tx, task: Task, wanted: tuple[str, ...], *, actor_id: str) -> Task:
        """Make an unfinished task wait for these tasks of its project, and for no other."""
        self._check_unfinished(task)
        for each in wanted:
            await self._task_store.in_project(tx, each, task.project_id)
        above = {task.id, *(one.id for one in await self._task_store.ancestors(tx, task))}
        await self._creation.check_circle(tx, list(wanted), above)
        await tx.run("delete from task_dependencies where task_id = ?", task.id)
        for each in wanted:
            await tx.run(
                "insert into task_dependencies (task_id, depends_on) values (?, ?)", task.id, each
            )
        return await self._task_store.changed(tx, task, actor_id=actor_id, what="dependencies")

    def _check_unfinished(self, task: Task) -> None:
        if is_finished(task.status):
            raise self._ctx.refuse("task_finished", 409, task_id=task.id, status=task.status)

    async def check_assignee(self, db: Reader, agent_id: str | None, project_id: str) -> None:
        """Refuse whoever is not of the project; an agent of another one is as unknown as none."""
        if agent_id is not None and not await self._directory.is_member(db, agent_id, project_id):
            raise self._ctx.refuse("agent_not_found", 404, agent_id=quoted(agent_id))


def reworded(task: Task, **changes: str | None) -> Task:
    """Return a task with the given fields; those that are ``None`` stay."""
    return replace(task, **{k: v for k, v in changes.items() if v is not None})  # type: ignore[arg-type]
