"""Who is there and what they do: what ``aipm status`` shows."""

from __future__ import annotations

from collections.abc import Sequence

from aipm_notifications.api import INBOX, inbox_topic
from aipm_sessions.api import DIRECTORY, SESSIONS, Agent, Project, SessionInfo

from aipm_core import Json, PluginContext, ServiceKey, Session, iso
from aipm_tasks.api import Task
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.service import SqlTaskService
from aipm_tasks.task_store import project_topic, shown
from aipm_tasks.transitions import NEXT

_COUNTS = (
    "select status, count(*) as n from tasks where project_id = ? and archived_at is null "
    "group by status"
)


class Overview:
    """Puts agents, sessions, tasks and inboxes together."""

    def __init__(
        self, ctx: PluginContext[TasksConfig], service: SqlTaskService, bindings: Bindings
    ) -> None:
        self._ctx = ctx
        self._service = service
        self._bindings = bindings
        self._directory = ctx.services.use(DIRECTORY)
        self._sessions = ctx.services.use(SESSIONS)
        self._inbox = ctx.services.find(INBOX)

    async def look(self, projects: Sequence[str]) -> list[dict[str, Json]]:
        """List the members of these projects, each with what it does there."""
        found = await self._directory.projects(self._ctx.store)
        shown = [one for one in found if one.id in projects and not one.archived]
        return [line for project in shown for line in await self._members(project)]

    async def counts(self, projects: Sequence[str]) -> list[dict[str, Json]]:
        """List these projects, each with how many tasks stand where."""
        lines: list[dict[str, Json]] = []
        for project in await self._directory.projects(self._ctx.store):
            if project.id not in projects or project.archived:
                continue
            rows = await self._ctx.store.all(_COUNTS, project.id)
            found = {row["status"]: row["n"] for row in rows}
            tasks = {status: found.get(status, 0) for status in NEXT}
            line = {"id": project.id, "name": project.name, "paused": project.paused}
            lines.append({**line, "tasks": tasks})
        return lines

    async def change(self, project_id: str | None, seconds: float) -> None:
        """Wait until something that is shown may have changed."""
        db = self._ctx.store
        projects = [one.id for one in await self._directory.projects(db)]
        topics = [
            topic
            for project in projects
            if project_id in (None, project)
            for topic in (
                project_topic(project),
                f"sessions:{project}",
                *[inbox_topic(project, m.id) for m in await self._directory.members(db, project)],
            )
        ]
        first = True

        async def look() -> bool | None:
            nonlocal first
            rung, first = not first, False
            return rung or None

        await db.wait_until(topics, look, seconds)

    async def _members(self, project: Project) -> list[dict[str, Json]]:
        db = self._ctx.store
        live = await self._sessions.live(db, project.id)
        return [
            await self._line(project, agent, [i for i in live if i.session.agent_id == agent.id])
            for agent in await self._directory.members(db, project.id)
        ]

    async def _line(
        self, project: Project, agent: Agent, live: list[SessionInfo]
    ) -> dict[str, Json]:
        db = self._ctx.store
        unfinished = await self._service.open_of(db, agent.id, project.id)
        running = [shown(task) for task in unfinished if task.status == "in_progress"]
        inbox = self._inbox
        asked = Session(id="", agent_id=agent.id, project_id=project.id, purpose="task")
        return {
            "agent_id": agent.id,
            "project_id": project.id,
            "name": agent.name,
            "type": agent.kind,
            "role": agent.role,
            "sessions": [await self._session(info) for info in live],
            "tasks": running,
            "open_tasks": len(unfinished),
            "unread": await inbox.unread(db, agent.id, project.id) if inbox else 0,
            "paused": bool(inbox and await inbox.paused_since(db, asked)),
        }

    async def _session(self, info: SessionInfo) -> dict[str, Json]:
        task: Task | None = await self._bindings.task_of(self._ctx.store, info.session.id)
        return {
            "id": info.session.id,
            "purpose": info.session.purpose,
            "created_at": info.created_at,
            "last_seen": iso(info.last_seen),
            "idle_seconds": max(0, round(self._ctx.clock() - info.last_seen)),
            "stale": self._bindings.is_stale(info),
            "task_id": task.id if task else None,
            "task_title": task.title if task else None,
            "task_status": task.status if task else None,
        }


OVERVIEW = ServiceKey[Overview]("tasks.overview")
