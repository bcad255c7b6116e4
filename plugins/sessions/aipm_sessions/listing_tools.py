"""What people look up: projects, members, sessions. The operator sees those of all projects."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, tool
from aipm_sessions.api import is_operator
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.session_store import SqlSessionStore
from aipm_sessions.shown import agent_shown, project_shown, session_shown


class ListProjects(Arguments):
    """Arguments of ``list_projects``."""

    archived: bool = False


class OfProject(Arguments):
    """Arguments of what is listed for one project, or for all one may look into."""

    project_id: str | None = Field(default=None, max_length=64)


class ListingTools:
    """Everything is read where it is asked."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        directory: SqlDirectory,
        sessions: SqlSessionStore,
    ) -> None:
        self._ctx = ctx
        self._directory = directory
        self._sessions = sessions

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        for run in (self.list_projects, self.list_agents, self.list_sessions):
            yield tool(run, access=Access.PERSON, audience="ui", read_only=True)

    async def list_projects(self, call: Call, args: ListProjects) -> Json:
        """List the projects the caller may look into; archived ones only if asked for."""
        db = self._ctx.store
        mine = set(await self._directory.reach(db, call.caller))
        found = [project for project in await self._directory.projects(db) if project.id in mine]
        shown = [one for one in found if args.archived or not one.archived]
        return {"projects": [project_shown(project) for project in shown]}

    async def list_agents(self, call: Call, args: OfProject) -> Json:
        """List agents and people, with the projects of theirs that the caller may look into."""
        db = self._ctx.store
        reach = await self._directory.reach(db, call.caller)
        if args.project_id is None and is_operator(call.caller):
            members = await self._directory.agents(db)
        else:
            named = [args.project_id] if args.project_id is not None else reach
            found = [one for each in named for one in await self._directory.members(db, each)]
            members = sorted({one.id: one for one in found}.values(), key=lambda one: one.id)
        agents: list[Json] = []
        for one in members:
            projects = await self._directory.projects_of(db, one.id)
            agents.append(agent_shown(one, [each for each in projects if each in reach]))
        return {"agents": agents}

    async def list_sessions(self, call: Call, args: OfProject) -> Json:
        """List agents' sessions that have not ended, newest first."""
        db = self._ctx.store
        reach = set(await self._directory.reach(db, call.caller))
        live = await self._sessions.live(db, args.project_id)
        shown = [info for info in live if info.session.project_id in reach]
        silent = self._sessions.is_silent
        return {"sessions": [session_shown(info, silent=silent(info)) for info in shown]}
