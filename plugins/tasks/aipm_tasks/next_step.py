"""What a task session does next, read off the tasks as they are: never off the order of calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aipm_notifications.api import INBOX
from aipm_sessions.api import Need

from aipm_core import Json, PluginContext, Reader, Session, Tx
from aipm_tasks.api import Task
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.pool import Pool
from aipm_tasks.task_store import TaskStore, agent_topic, pool_topic, shown
from aipm_tasks.transitions import ADJUSTABLE, is_finished

_TOOLS = {
    "work": ("report_completed", "create_task", "update_task_status", "list_tasks"),
    "start_task": ("update_task_status",),
    "start_subtask": ("update_task_status",),
    "execute_subtask": ("update_task_status", "create_task"),
    "resolve_blocked_subtasks": ("update_task_status", "report_completed"),
    "report_completed": ("report_completed", "create_task"),
    "wait_for_subtasks": ("get_next_action", "list_tasks"),
    "wait_for_task": ("get_next_action",),
    "wait_for_resume": ("get_next_action",),
}


class TaskWork:
    """The ``WorkSource`` of this plugin."""

    def __init__(
        self, ctx: PluginContext[TasksConfig], task_store: TaskStore, bindings: Bindings
    ) -> None:
        self._ctx = ctx
        self._task_store = task_store
        self._bindings = bindings
        self._pool = Pool(ctx, task_store)
        self._inbox = ctx.services.find(INBOX)

    def topics(self, session: Session) -> tuple[str, ...]:
        """Name what wakes a session that waits for a task or for its subtasks."""
        project_id = session.project_id
        return agent_topic(project_id, session.agent_id), pool_topic(project_id)

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Return what the session should do now; ``None`` while it can only wait."""
        task = await self._task(session)
        if await self._paused(session, task):
            return None
        if task is None:
            return await self._offer(session)
        if task.status != "in_progress":
            return self._over(task)
        return await self._step(session, task)

    async def idle(self, session: Session) -> Mapping[str, Json]:
        """Say what the session waits for."""
        task = await self._bindings.task_of(self._ctx.store, session.id)
        if await self._paused(session, task):
            return self._say("wait_for_resume", task)
        if task is None:
            return self._say("wait_for_task")
        children = await self._task_store.children(self._ctx.store, task.id)
        unfinished = [child for child in children if not is_finished(child.status)]
        return self._say("wait_for_subtasks", task, subtasks=[shown(one) for one in unfinished])

    async def needs(self, db: Reader) -> list[Need]:
        """List the agents with a running task that no live session works on, or one to start.

        An agent that was asked to pause needs no session, nor does a task below a blocked one.
        """
        ready = [task for task in await self._bindings.all_ready(db) if await self._open(db, task)]
        found: dict[tuple[str, str], Task] = {}
        for task in (*await self._bindings.all_waiting(db), *ready):
            found.setdefault((task.assignee_id or "", task.project_id), task)
        pooled = await self._pool.offers(db)
        needs = [_need(agent, task) for (agent, _), task in found.items()]
        needs += [_need(agent, task, pool=True) for agent, task in pooled]
        tasks = {task.id: task for task in (*found.values(), *(task for _, task in pooled))}
        return [
            need
            for need in needs
            if not await self._asked_to_pause(db, need, tasks[need.task_id or ""])
        ]

    async def take(self, tx: Tx, need: Need) -> Need | None:
        """Give a task of the pool to the agent that is about to be started for it."""
        if not need.pool:
            return need
        task = await self._pool.take(tx, need.agent_id, need.project_id)
        return replace(need, task_id=task.id, reason=f"task {task.id}") if task else None

    async def _asked_to_pause(self, db: Reader, need: Need, task: Task) -> bool:
        session = Session(id="", agent_id=need.agent_id, project_id=need.project_id, purpose="task")
        return await self._paused(session, task if task.status == "in_progress" else None, db)

    async def _open(self, db: Reader, task: Task) -> bool:
        """Return whether nothing above a task is blocked or finished."""
        above = await self._task_store.ancestors(db, task)
        return not any(one.status == "blocked" or is_finished(one.status) for one in above)

    async def _task(self, session: Session) -> Task | None:
        """Return the session's task; take up one that waits if it has none to work on."""
        task = await self._bindings.task_of(self._ctx.store, session.id)
        if task is not None and task.status not in ADJUSTABLE:
            return task
        waiting = await self._bindings.waiting(
            self._ctx.store, session.agent_id, session.project_id
        )
        if task is None and not waiting:
            return None

        async def unit(tx: Tx) -> Task | None:
            if task is not None:
                await self._bindings.free(tx, session.id)
            return await self._bindings.take(tx, session)

        return await self._ctx.store.write(unit)

    async def _offer(self, session: Session) -> Mapping[str, Json] | None:
        db = self._ctx.store
        for task in await self._bindings.ready(db, session.agent_id, session.project_id):
            if await self._open(db, task):
                return self._say("start_task", task)
        if not await self._pool.is_offered(db, session.agent_id, session.project_id):
            return None

        async def unit(tx: Tx) -> Task | None:
            return await self._pool.take(tx, session.agent_id, session.project_id)

        taken = await db.write(unit)
        return self._say("start_task", taken) if taken else None

    async def _paused(self, session: Session, task: Task | None, db: Reader | None = None) -> bool:
        """Return whether a pause is in force. It does not hold a task that was started after it."""
        if self._inbox is None:
            return False
        db = db or self._ctx.store
        since = await self._inbox.paused_since(db, session)
        if since is None or task is None:
            return since is not None
        row = await db.one("select started_at from tasks where id = ?", task.id)
        return row is None or row["started_at"] is None or since >= row["started_at"]

    def _over(self, task: Task) -> Mapping[str, Json]:
        """The task was ended by somebody else: only the report is missing."""
        result = "success" if task.status == "done" else "blocked"
        return self._say("report_completed", task, key="stopped", result=result)

    async def _step(self, session: Session, task: Task) -> Mapping[str, Json] | None:
        children = await self._task_store.children(self._ctx.store, task.id)
        if not children:
            return self._say("work", task)
        if all(is_finished(child.status) for child in children):
            return self._say("report_completed", task, key="finished", result="success")
        own = [c for c in children if c.status == "in_progress" and _is_mine(c, session)]
        if own:
            return self._say("execute_subtask", task, subtask=own[0])
        if (ready := await self._startable(children)) is not None:
            return self._say("start_subtask", task, subtask=ready)
        blocked = [child for child in children if child.status == "blocked"]
        if blocked and not any(child.status == "in_progress" for child in children):
            listed = [shown(child) for child in blocked]
            return self._say("resolve_blocked_subtasks", task, subtasks=listed)
        return None

    async def _startable(self, children: Sequence[Task]) -> Task | None:
        for child in children:
            may_start = child.status in ADJUSTABLE and child.approval_status == "approved"
            if may_start and not await self._task_store.waits_for_others(self._ctx.store, child.id):
                return child
        return None

    def _say(
        self,
        action: str,
        task: Task | None = None,
        *,
        key: str | None = None,
        subtask: Task | None = None,
        **more: Json,
    ) -> dict[str, Json]:
        named = subtask or task
        values = {"task_id": named.id} if named else {}
        values |= {name: value for name, value in more.items() if isinstance(value, str)}
        words = f"actions.{action}" + (f".{key}" if key else "")
        made: dict[str, Json] = {
            "action": action,
            "instruction": self._ctx.texts(f"{words}.instruction", **values),
            "reason": self._ctx.texts(f"{words}.reason"),
            "tools": list(_TOOLS[action]),
        }
        made |= {"task": shown(task)} if task else {}
        made |= {"subtask": shown(subtask)} if subtask else {}
        return made | more


def _is_mine(task: Task, session: Session) -> bool:
    return task.assignee_id in (None, session.agent_id)


def _need(agent_id: str, task: Task, *, pool: bool = False) -> Need:
    return Need(
        agent_id=agent_id,
        project_id=task.project_id,
        purpose="task",
        reason=f"{'pool' if pool else 'task'} {task.id}",
        task_id=task.id,
        pool=pool,
    )
