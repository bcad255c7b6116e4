"""Who is there and what they do: what ``aipm status`` shows."""

from __future__ import annotations

from aipm_notifications.api import INBOX, inbox_topic
from aipm_sessions.api import DIRECTORY, SESSION_DESK, Agent, Project, SessionInfo

from aipm_core import Json, PluginContext, ServiceKey, iso
from aipm_core.models import Session
from aipm_tasks.api import Task
from aipm_tasks.bindings import Bindings
from aipm_tasks.config import TasksConfig
from aipm_tasks.desk import Desk
from aipm_tasks.ledger import project_topic, shown


class Overview:
    """Puts agents, sessions, tasks and inboxes together."""

    def __init__(self, ctx: PluginContext[TasksConfig], desk: Desk, bindings: Bindings) -> None:
        self._ctx = ctx
        self._desk = desk
        self._bindings = bindings
        self._directory = ctx.services.use(DIRECTORY)
        self._sessions = ctx.services.use(SESSION_DESK)
        self._inbox = ctx.services.find(INBOX)

    async def look(self, project_id: str | None) -> list[dict[str, Json]]:
        """List the members of one project or of all, each with what it does there."""
        projects = await self._directory.projects(self._ctx.store)
        if project_id is not None:
            projects = [one for one in projects if one.id == project_id]
            if not projects:
                raise self._ctx.refuse("project_not_found", 404, project_id=project_id)
        return [line for project in projects for line in await self._members(project)]

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
        unfinished = await self._desk.open_of(db, agent.id, project.id)
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
        }


OVERVIEW = ServiceKey[Overview]("tasks.overview")
