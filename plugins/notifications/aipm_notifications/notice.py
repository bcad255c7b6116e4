"""Tells every caller about its inbox: before the call by a gate, after it on the reply."""

from __future__ import annotations

import logging

from aipm_sessions.api import SESSIONS

from aipm_core import (
    Call,
    PluginContext,
    Reply,
    ReplyReplaced,
    Request,
    Session,
    SessionInvalid,
    Trait,
)
from aipm_notifications.config import NotificationsConfig
from aipm_notifications.inbox import SqlInbox
from aipm_notifications.withheld import Withheld

logger = logging.getLogger(__name__)


class InboxNotice:
    """While an interrupt is unread nothing runs, and no reply gets through but its text."""

    def __init__(
        self, ctx: PluginContext[NotificationsConfig], inbox: SqlInbox, withheld: Withheld
    ) -> None:
        self._store = ctx.store
        self._gateway = ctx.gateway
        self._sessions = ctx.services.find(SESSIONS)
        self._inbox = inbox
        self._withheld = withheld
        self._none = ctx.texts("notice.none")
        self._unread = ctx.texts("notice.unread")
        self._interrupt = ctx.texts("notice.interrupt")

    async def check(self, call: Call) -> None:
        """Stop the call of a session that has not read its interrupt; people are no agents."""
        session = call.caller
        if Trait.WAY_OUT in call.tool.traits or session.over or session.purpose == "ui":
            return
        if await self._inbox.interrupted(self._store, session):
            raise ReplyReplaced(self._interrupt)

    async def apply(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        """Add the field, or replace the reply if an interrupt came while the call ran."""
        if session is None or reply.replaced is not None or _is_gone(reply):
            return reply
        if session.purpose == "ui":
            return reply
        interrupts, ordinary = await self._inbox.kinds(session)
        leaves = Trait.WAY_OUT in self._traits(request)
        if interrupts and not leaves:
            return await self._replace(request, session, reply)
        unread = interrupts or ordinary
        if unread and leaves:
            unread = await self._goes_on(session)
        return reply.with_field("notification", self._unread if unread else self._none)

    async def _goes_on(self, session: Session) -> bool:
        """Return whether a session can still read: a call may have ended it."""
        if self._sessions is not None:
            try:
                await self._sessions.check_going_on(self._store, session)
            except SessionInvalid:
                return False
        return True

    def _traits(self, request: Request) -> frozenset[Trait]:
        found = self._gateway.find_tool(request.tool, request.audience)
        return found.traits if found else frozenset()

    async def _replace(self, request: Request, session: Session, reply: Reply) -> Reply:
        """Put the result away first: what cannot be kept is delivered rather than lost."""
        kept = False
        # A result that is a secret must not be put on disk, so it is handed over even then.
        if Trait.KEEPS_NO_RESULT not in self._traits(request):
            try:
                kept = await self._withheld.keep(request, session, reply)
            except Exception:
                logger.exception("the result of %s could not be withheld", request.tool)
        if not kept:
            return reply.with_field("notification", self._unread)
        return Reply(replaced=self._interrupt)


def _is_gone(reply: Reply) -> bool:
    """Return whether the caller learns that it has no session: it could not read either."""
    return reply.error is not None and reply.error.code == "session_invalid"
