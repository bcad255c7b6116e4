"""The two commands the gateway carries out itself: openSession and closeSession."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_sessions.api import DIRECTORY

from aipm_core import Access, AnyTool, Call, Json, PluginContext, SessionInvalid, Tool, Tx
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.follow_access import FollowAccess
from aipm_ui_gateway.ui_commands.payloads import CloseSession, OpenSession
from aipm_ui_gateway.ui_sessions import SqlUiSessions


class SessionCommands:
    """Starts, attaches to and ends sessions."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        sessions: SqlUiSessions,
        follow_access: FollowAccess,
    ) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._follow_access = follow_access
        self._directory = ctx.services.use(DIRECTORY)

    def tools(self) -> Iterable[AnyTool]:
        """Return the two commands as people's tools."""
        person = Access.PERSON
        yield Tool(
            name="openSession",
            run=self.open,
            arguments=OpenSession,
            access=person,
            audience="ui",
        )
        yield Tool(
            name="closeSession",
            run=self.close,
            arguments=CloseSession,
            access=person,
            audience="ui",
        )

    async def open(self, call: Call, args: OpenSession) -> Json:
        """Start a session, or attach to one."""
        return await call.write(self._ctx.store, lambda tx: self._open(tx, call, args))

    async def _open(self, tx: Tx, call: Call, args: OpenSession) -> Json:
        person = await self._directory.agent(tx, call.caller.agent_id)
        if person is None:
            raise SessionInvalid(self._ctx.texts("errors.session_invalid"))
        if args.projectId is not None and args.agentId is not None:
            made = await self._sessions.open(tx, person, args.projectId, args.agentId)
            return {"sessionId": made.id, "lastSeq": 0}
        session_id = args.sessionId or ""
        if not await self._follow_access.follow(tx, person, session_id):
            raise self._ctx.refuse("session_not_found", 404)
        self._sessions.presence.used(session_id)
        last = await self._ctx.events.last_seq(session_id, tx)
        return {"sessionId": session_id, "lastSeq": last}

    async def close(self, call: Call, args: CloseSession) -> Json:
        """End a session for good."""

        async def unit(tx: Tx) -> Json:
            session = await self._sessions.of_person(tx, call.caller.agent_id, args.sessionId)
            await self._sessions.close(tx, session.id)
            return {"sessionId": session.id}

        return await call.write(self._ctx.store, unit)
