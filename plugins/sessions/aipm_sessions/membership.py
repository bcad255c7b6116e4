"""People see the projects they belong to; every other project does not exist for them."""

from __future__ import annotations

from aipm_core import Call, PluginContext, quoted
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory


class Membership:
    """The one check of the ``project_id`` that people's calls name."""

    def __init__(self, ctx: PluginContext[SessionsConfig], directory: SqlDirectory) -> None:
        self._ctx = ctx
        self._directory = directory

    async def check(self, call: Call) -> None:
        """Answer for a foreign project as for one that does not exist."""
        project_id = call.request.arguments.get("project_id")
        if call.tool.audience != "ui" or call.session is None or not isinstance(project_id, str):
            return
        if project_id not in await self._directory.reach(self._ctx.store, call.session):
            raise self._ctx.refuse("project_not_found", 404, project=quoted(project_id))
