"""Which session works on which task. One session a task, and a silent session loses its task."""

from __future__ import annotations

from aipm_notifications.api import INBOX
from aipm_sessions.api import SESSIONS, SessionInfo

from aipm_core import PluginContext, Reader, Row, Session, Tx
from aipm_tasks.api import Task
from aipm_tasks.config import TasksConfig
from aipm_tasks.task_store import agent_topic, project_topic, task_of, task_topic
from aipm_tasks.transitions import FINISHED_SQL

# A subtask of a task the same agent is at work on belongs to that task's session.
_ALONE = (
    "not exists (select 1 from tasks p where p.id = t.parent_task_id "
    "and p.assignee_id = t.assignee_id and p.status = 'in_progress')"
)
_RUNNING = (
    "select t.*, b.session_id from tasks t left join task_sessions b on b.task_id = t.id "
    f"and b.freed_at is null where t.status = 'in_progress' and {_ALONE} "
)
STARTABLE = (  # what could begin now, most urgent first
    f"t.status = 'todo' and t.approval_status = 'approved' and {_ALONE} and not exists (select 1 "
    "from task_dependencies d join tasks o on o.id = d.depends_on where d.task_id = t.id "
    f"and o.status not in {FINISHED_SQL}) order by t.rank, t.seq"
)
_READY = (
    f"select t.* from tasks t where t.project_id = ? and t.assignee_id = ? and {STARTABLE} limit 20"
)
_ALL_READY = f"select t.* from tasks t where t.assignee_id is not null and {STARTABLE} limit 1000"


def binding_topic(project_id: str) -> str:
    """Name what is woken when a session takes or loses a task."""
    return f"task_bindings:{project_id}"


class Bindings:
    """Reads and writes ``task_sessions``."""

    def __init__(self, ctx: PluginContext[TasksConfig]) -> None:
        self._ctx = ctx
        self._sessions = ctx.services.use(SESSIONS)
        self._inbox = ctx.services.find(INBOX)

    async def task_of(self, db: Reader, session_id: str) -> Task | None:
        """Return the task a session works on."""
        row = await db.one(
            "select t.* from task_sessions b join tasks t on t.id = b.task_id "
            "where b.session_id = ? and b.freed_at is null",
            session_id,
        )
        return task_of(row) if row else None

    async def last_task_of(self, db: Reader, session_id: str) -> Task | None:
        """Return the task a session works on, or worked on until it fell silent."""
        row = await db.one(
            "select t.* from task_sessions b join tasks t on t.id = b.task_id "
            "where b.session_id = ?",
            session_id,
        )
        return task_of(row) if row else None

    async def waiting(self, db: Reader, agent_id: str, project_id: str) -> list[Task]:
        """List an agent's running tasks that no live session works on, most urgent first."""
        rows = await db.all(
            _RUNNING + "and t.project_id = ? and t.assignee_id = ? order by t.rank, t.seq limit 50",
            *(project_id, agent_id),
        )
        return [task_of(row) for row in rows if await self._unattended(db, row)]

    async def all_waiting(self, db: Reader) -> list[Task]:
        """List every running task of an agent that no live session works on."""
        rows = await db.all(_RUNNING + "and t.assignee_id is not null limit 1000")
        return [task_of(row) for row in rows if await self._unattended(db, row)]

    async def ready(self, db: Reader, agent_id: str, project_id: str) -> list[Task]:
        """List tasks an agent could start next, most urgent first."""
        return [task_of(row) for row in await db.all(_READY, project_id, agent_id)]

    async def all_ready(self, db: Reader) -> list[Task]:
        """List every task that its agent could start next, most urgent first."""
        return [task_of(row) for row in await db.all(_ALL_READY)]

    async def take(self, tx: Tx, session: Session) -> Task | None:
        """Bind a task session to a running task that waits for one, if there is any."""
        if await self._sessions.find(tx, session.id) is None:
            return None
        found = await self.waiting(tx, session.agent_id, session.project_id)
        if not found:
            return None
        last = await self.last_task_of(tx, session.id)
        task = next((one for one in found if last is not None and one.id == last.id), found[0])
        await self.bind(tx, session, task.id)
        return task

    async def bind(self, tx: Tx, session: Session, task_id: str) -> None:
        """Let a session work on a task that has no live session."""
        now = self._ctx.now()
        await self._wake_held(tx, session.id)
        await self._take_over(tx, session, task_id)
        await tx.run(
            "update task_sessions set freed_at = ? where task_id = ? and freed_at is null",
            *(now, task_id),
        )
        await tx.run(
            "insert into task_sessions (session_id, task_id, agent_id, project_id, bound_at) "
            "values (?, ?, ?, ?, ?) on conflict (session_id) do update set "
            "task_id = excluded.task_id, bound_at = excluded.bound_at, freed_at = null",
            *(session.id, task_id, session.agent_id, session.project_id, now),
        )
        tx.wake(project_topic(session.project_id), task_topic(session.project_id, task_id))
        tx.wake(binding_topic(session.project_id))

    async def _take_over(self, tx: Tx, session: Session, task_id: str) -> None:
        """Stop for what was to stop those who worked on the task before."""
        rows = await tx.all(
            "select session_id from task_sessions where task_id = ? and session_id <> ?",
            *(task_id, session.id),
        )
        if self._inbox is not None:
            before = [row["session_id"] for row in rows]
            for session_id in before:
                await self._inbox.hand_over(tx, session_id, session.id)
            await self._inbox.spare(tx, session, before)

    async def _wake_held(self, tx: Tx, session_id: str) -> None:
        """Wake who looks at the task a session leaves for another one."""
        row = await tx.one(
            "select project_id, task_id from task_sessions "
            "where session_id = ? and freed_at is null",
            session_id,
        )
        if row is not None:
            tx.wake(task_topic(row["project_id"], row["task_id"]))

    async def free(self, tx: Tx, session_id: str) -> None:
        """Let go of a session's task, and wake whoever could take it up."""
        row = await tx.one(
            "select agent_id, project_id, task_id from task_sessions "
            "where session_id = ? and freed_at is null",
            session_id,
        )
        if row is None:
            return
        await tx.run(
            "update task_sessions set freed_at = ? where session_id = ?",
            *(self._ctx.now(), session_id),
        )
        tx.wake(agent_topic(row["project_id"], row["agent_id"]), project_topic(row["project_id"]))
        tx.wake(task_topic(row["project_id"], row["task_id"]), binding_topic(row["project_id"]))

    async def free_task(self, tx: Tx, task_id: str) -> None:
        """Take a task from whichever session works on it."""
        for row in await tx.all(
            "select session_id from task_sessions where task_id = ? and freed_at is null", task_id
        ):
            await self.free(tx, row["session_id"])

    async def free_silent(self, tx: Tx) -> int:
        """Free the tasks of all sessions whose lease has run out."""
        silent = await self.silent(tx)
        for session_id in silent:
            await self.free(tx, session_id)
        return len(silent)

    async def silent(self, db: Reader) -> list[str]:
        """List the sessions that hold a task and have not called within their lease."""
        rows = await db.all("select session_id from task_sessions where freed_at is null limit 500")
        infos = {row["session_id"]: await self._info(db, row["session_id"]) for row in rows}
        return [name for name, info in infos.items() if info is None or self.is_stale(info)]

    def is_stale(self, info: SessionInfo) -> bool:
        """Return whether a session has not called within its lease."""
        return self._ctx.clock() >= info.last_seen + self._ctx.config.lease_seconds

    async def _unattended(self, db: Reader, row: Row) -> bool:
        if row["session_id"] is None:
            return True
        info = await self._info(db, row["session_id"])
        return info is None or self.is_stale(info)

    async def _info(self, db: Reader, session_id: str) -> SessionInfo | None:
        return await self._sessions.find(db, session_id)
