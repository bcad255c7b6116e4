"""Takes agents out of projects, and agents and projects out of everybody's sight.

Rows stay, so that histories keep their names; an id is not given a second time.
"""

from __future__ import annotations

from aipm_core import PluginContext, Tx
from aipm_sessions.administration import Administration
from aipm_sessions.api import SessionHooks, members_topic, project_topic
from aipm_sessions.config import SessionsConfig
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.session_store import SqlSessionStore

_OPEN = "select id from sessions where ended_at is null and project_id = ?"


class Departures:
    """Ends what those who leave have open, and tells the plugins that keep something of theirs."""

    def __init__(
        self,
        ctx: PluginContext[SessionsConfig],
        administration: Administration,
        sessions: SqlSessionStore,
        directory: SqlDirectory,
    ) -> None:
        self._ctx = ctx
        self._administration = administration
        self._sessions = sessions
        self._directory = directory

    async def leave(self, tx: Tx, agent_id: str, project_id: str, by: str) -> bool:
        """Take an agent out of a project; its sessions there end. ``False`` if it was not in it."""
        rows = await tx.all(f"{_OPEN} and agent_id = ?", project_id, agent_id)
        for row in rows:
            await self._sessions.close(tx, row["id"], "revoked")
        gone = await tx.run(
            "delete from project_agents where project_id = ? and agent_id = ?",
            *(project_id, agent_id),
        )
        for owned in self._ctx.given(SessionHooks.aipm_project_observers):
            if gone and owned.record.left is not None:
                await owned.record.left(tx, project_id, agent_id, by)
        tx.wake(members_topic(project_id))
        return gone == 1

    async def remove_agent(self, tx: Tx, agent_id: str, by: str) -> None:
        """Take an agent out of everything; nothing it has opens anything any more."""
        for project_id in await self._directory.projects_of(tx, agent_id):
            await self.leave(tx, agent_id, project_id, by)
        await self._administration.end_all(tx, agent_id)
        await tx.run(
            "update agents set parent_id = (select parent_id from agents where id = ?) "
            "where parent_id = ?",
            *(agent_id, agent_id),
        )
        await tx.run(
            "update agents set removed_at = ?, passkey_hash = '', parent_id = null where id = ?",
            *(self._ctx.now(), agent_id),
        )

    async def remove_project(self, tx: Tx, project_id: str, by: str) -> None:
        """Take everybody out of a project, and it out of everybody's sight."""
        for member in await self._directory.members(tx, project_id):
            await self.leave(tx, member.id, project_id, by)
        await tx.run(
            "update projects set removed_at = ?, directory = null where id = ?",
            *(self._ctx.now(), project_id),
        )
        tx.wake(project_topic(project_id))
