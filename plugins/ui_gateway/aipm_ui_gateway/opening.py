"""The two commands the gateway carries out itself: openSession and closeSession."""

from __future__ import annotations

from collections.abc import Mapping

from aipm_sessions.api import Agent

from aipm_core import Json, PluginContext, Tx
from aipm_ui_gateway.api import UiSession
from aipm_ui_gateway.board import Commands
from aipm_ui_gateway.command_payloads import CloseSession, OpenSession
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.lookout import Lookout
from aipm_ui_gateway.ui_sessions import SqlUiSessions


class Opening:
    """Starts, attaches to and ends sessions."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        board: Commands,
        sessions: SqlUiSessions,
        lookout: Lookout,
    ) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._lookout = lookout
        board.handle("openSession", OpenSession, self._open)
        board.handle("closeSession", CloseSession, self._close)

    async def _open(
        self, tx: Tx, person: Agent, session: UiSession | None, payload: OpenSession
    ) -> Mapping[str, Json]:
        if payload.projectId is not None and payload.agentId is not None:
            made = await self._sessions.open(tx, person, payload.projectId, payload.agentId)
            return {"sessionId": made.id, "lastSeq": 0}
        session_id = payload.sessionId or ""
        if not await self._lookout.may_follow(tx, person, session_id):
            raise self._ctx.refuse("session_not_found", 404)
        last = await self._ctx.events.last_seq(session_id, tx)
        return {"sessionId": session_id, "lastSeq": last}

    async def _close(
        self, tx: Tx, person: Agent, session: UiSession | None, payload: CloseSession
    ) -> Mapping[str, Json]:
        assert session is not None  # noqa: S101 - a session command comes with its session  # nosec B101
        await self._sessions.close(tx, session.id)
        return {"sessionId": session.id}
