"""Decides who may follow which session. Everything that is not allowed does not exist."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_sessions.api import DIRECTORY, SESSION_DESK, Agent

from aipm_core import Json, PluginContext, Reader, Session, Tx
from aipm_core.models import Purpose
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.ui_sessions import SqlUiSessions, topic


class Lookout:
    """A person follows their own UI sessions; a manager also the sessions of agents below."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig], sessions: SqlUiSessions) -> None:
        self._sessions = sessions
        self._desk = ctx.services.use(SESSION_DESK)
        self._directory = ctx.services.use(DIRECTORY)
        self._desk.observe(_EndsHeard())

    async def may_follow(self, db: Reader, person: Agent, session_id: str) -> bool:
        """Say whether this person may see the events of this session now."""
        own = await self._sessions.find(db, session_id)
        if own is not None:
            return own.person_id == person.id
        return await self._manages(db, person, session_id)

    async def _manages(self, db: Reader, person: Agent, session_id: str) -> bool:
        if person.role != "manager":
            return False
        info = await self._desk.find(db, session_id)
        return (
            info is not None
            and await self._directory.is_member(db, person.id, info.session.project_id)
            and await self._directory.stands_above(db, person.id, info.session.agent_id)
        )


class _EndsHeard:
    """Wakes the followers of an agent's session when it ends."""

    async def purpose_for(self, tx: Tx, agent_id: str, project_id: str) -> Purpose | None:
        return None

    async def opened(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        return {}

    async def closed(self, tx: Tx, session: Session, reason: str) -> None:
        tx.wake(topic(session.id))
