"""Whom a person may manage."""

from __future__ import annotations

from aipm_core import PluginContext, Reader, Session, quoted
from aipm_sessions.api import Agent, is_operator
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory


class Authority:
    """A manager's word ends where the projects begin that the manager does not belong to."""

    def __init__(self, ctx: PluginContext[SessionsConfig], directory: SqlDirectory) -> None:
        self._ctx = ctx
        self._directory = directory

    async def member(self, db: Reader, agent_id: str, project_id: str) -> Agent:
        """Find an agent of a project; one of another project is as unknown as one that is not."""
        agent = await self._directory.agent(db, agent_id)
        if agent is None or not await self._directory.is_member(db, agent_id, project_id):
            raise self._ctx.refuse("agent_not_found", 404, agent=quoted(agent_id))
        return agent

    async def known(self, db: Reader, manager: Session, agent_id: str) -> Agent:
        """Find an agent of any of the manager's projects."""
        agent = await self._directory.agent(db, agent_id)
        if agent is None or not await self._shares_project(db, manager, agent_id):
            raise self._ctx.refuse("agent_not_found", 404, agent=quoted(agent_id))
        return agent

    async def check_governs(self, db: Reader, manager: Session, agent_id: str) -> None:
        """Refuse what would reach into a foreign project.

        Whoever gets the passkey of an agent, or changes what it may do, does so in all of its
        projects.
        """
        if not await self.governs(db, manager, agent_id):
            raise self._ctx.refuse("agent_of_others", 403, agent=quoted(agent_id))

    async def governs(self, db: Reader, manager: Session, agent_id: str) -> bool:
        """Return whether all projects of an agent are the manager's too."""
        mine = set(await self._directory.reach(db, manager))
        return set(await self._directory.projects_of(db, agent_id)) <= mine

    async def _shares_project(self, db: Reader, manager: Session, agent_id: str) -> bool:
        if is_operator(manager):
            return True
        mine = set(await self._directory.projects_of(db, manager.agent_id))
        return bool(mine & set(await self._directory.projects_of(db, agent_id)))
