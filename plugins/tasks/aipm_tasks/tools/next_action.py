"""The ``get_next_action`` tool: one implementation for every session and every transport."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_notifications.api import INBOX, inbox_topic
from aipm_sessions.api import DIRECTORY, INSTRUCTIONS, SESSIONS, WORK, project_topic
from pydantic import Field

from aipm_core import Arguments, Call, Json, PluginContext, Session
from aipm_tasks.config import TasksConfig
from aipm_tasks.next_step import TaskWork

MAX_WAIT_SECONDS = 55


class GetNextAction(Arguments):
    """Arguments of ``get_next_action``."""

    timeout_seconds: int = Field(default=45, ge=0, le=MAX_WAIT_SECONDS)


class NextAction:
    """Asks every source of work, and waits for the first that has some."""

    def __init__(self, ctx: PluginContext[TasksConfig], tasks: TaskWork) -> None:
        self._ctx = ctx
        self._tasks = tasks
        self._work_list = ctx.services.use(WORK)
        self._instructions = ctx.services.use(INSTRUCTIONS)
        self._sessions = ctx.services.use(SESSIONS)
        self._directory = ctx.services.use(DIRECTORY)
        self._inbox = ctx.services.find(INBOX)

    async def get_next_action(self, call: Call, args: GetNextAction) -> Json:
        """Say what to do now; wait for it if there is nothing."""
        session = call.caller
        known = await self._known_news(session)
        topics = [inbox_topic(session.project_id, session.agent_id)]
        topics.append(project_topic(session.project_id))
        for source in self._work_list.sources(session.purpose):
            topics += source.topics(session)
        found = await self._sessions.wait(
            session, topics, lambda: self._look(session, known), args.timeout_seconds
        )
        self._sessions.seen(session.id)
        return self._with_guidance(session, found or await self._idle(session))

    async def _look(self, session: Session, known: int) -> Mapping[str, Json] | None:
        """Look for an interrupt, then for work, then for news."""
        if self._inbox and await self._inbox.interrupted(self._ctx.store, session):
            return await self._idle(session)
        if await self._project_paused(session):
            return None
        for source in self._work_list.sources(session.purpose):
            if (found := await source.look(session)) is not None:
                return found
        if self._inbox and await self._inbox.newest(self._ctx.store, session) > known:
            return self._plain("get_notifications", "get_notifications")
        return None

    async def _known_news(self, session: Session) -> int:
        """Return up to where news are no reason to end a wait.

        A chat session hears of every message twice, so only what is new ends its wait; a task
        session that would wait although something is unread is sent to read it.
        """
        if self._inbox is None or session.purpose == "task":
            return 0
        return await self._inbox.newest(self._ctx.store, session)

    async def _project_paused(self, session: Session) -> bool:
        project = await self._directory.project(self._ctx.store, session.project_id)
        return project is not None and project.paused

    async def _idle(self, session: Session) -> Mapping[str, Json]:
        if await self._project_paused(session):
            return self._plain("wait_for_resume", "get_next_action")
        if session.purpose == "task":
            return await self._tasks.idle(session)
        return self._plain("wait_for_messages", "get_next_action")

    def _plain(self, action: str, tool: str) -> dict[str, Json]:
        return {
            "action": action,
            "instruction": self._ctx.texts(f"actions.{action}.instruction"),
            "reason": self._ctx.texts(f"actions.{action}.reason"),
            "tools": [tool],
        }

    def _with_guidance(self, session: Session, found: Mapping[str, Json]) -> dict[str, Json]:
        said, standing = str(found.get("instruction", "")), self._instructions.text(session.purpose)
        if standing and standing not in said:
            said = f"{said}\n\n{standing}" if said else standing
        return {**found, "instruction": said}
