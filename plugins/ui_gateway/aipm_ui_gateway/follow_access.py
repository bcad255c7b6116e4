"""Decides who may follow which session. Everything that is not allowed does not exist."""

from __future__ import annotations

from contextlib import AbstractContextManager

from aipm_sessions.api import DIRECTORY, SESSIONS, Agent

from aipm_core import PluginContext, Reader, Tx
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.ui_sessions import SqlUiSessions


class FollowAccess:
    """A person follows their own UI sessions; a manager also the sessions of agents below."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig], sessions: SqlUiSessions) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._agent_sessions = ctx.services.use(SESSIONS)
        self._directory = ctx.services.use(DIRECTORY)

    async def may_follow(self, db: Reader, person: Agent, session_id: str) -> bool:
        """Return whether this person may see the events of this session now."""
        own = await self._sessions.find(db, session_id)
        if own is not None:
            return own.person_id == person.id
        return await self._manages(db, person, session_id)

    async def follow(self, tx: Tx, person: Agent, session_id: str) -> bool:
        """Let this person see the events of this session from now on, if they may."""
        if not await self.may_follow(tx, person, session_id):
            return False
        await self._agent_sessions.follow(tx, session_id)
        return True

    async def begin(self, person: Agent, session_id: str) -> bool:
        """Do the same for a stream; one's own sessions need no mark, and so no write."""
        if await self._sessions.find(self._ctx.store, session_id) is not None:
            return await self.may_follow(self._ctx.store, person, session_id)
        if not await self._manages(self._ctx.store, person, session_id):
            return False
        return await self._ctx.store.write(lambda tx: self.follow(tx, person, session_id))

    def attended(self, session_id: str) -> AbstractContextManager[None]:
        """Count as being at a session until the block ends."""
        return self._sessions.presence.at(session_id)

    async def _manages(self, db: Reader, person: Agent, session_id: str) -> bool:
        if person.role != "manager":
            return False
        info = await self._agent_sessions.find(db, session_id)
        return (
            info is not None
            and await self._directory.is_member(db, person.id, info.session.project_id)
            and await self._directory.is_ancestor(db, person.id, info.session.agent_id)
        )
