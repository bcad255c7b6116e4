"""Tells every caller about its inbox: before the call by a gate, after it on the reply."""

from __future__ import annotations

import logging

from aipm_core import PluginContext, Reply, ReplyReplaced, Request, Session
from aipm_notifications.config import NotificationsConfig
from aipm_notifications.inbox import SqlInbox
from aipm_notifications.withheld import Withheld

logger = logging.getLogger(__name__)
EXEMPT = frozenset({"get_notifications", "report_completed", "logout", "help"})
# Its result is a secret that must not be put on disk, so it is handed over even then.
_NEVER_KEPT = frozenset({"authenticate"})


class Announcer:
    """While an interrupt is unread nothing runs, and no reply gets through but its text."""

    def __init__(
        self, ctx: PluginContext[NotificationsConfig], inbox: SqlInbox, withheld: Withheld
    ) -> None:
        self._store = ctx.store
        self._inbox = inbox
        self._withheld = withheld
        self._none = ctx.texts("notice.none")
        self._unread = ctx.texts("notice.unread")
        self._interrupt = ctx.texts("notice.interrupt")

    async def check(self, request: Request, session: Session) -> None:
        """Stop the call of a session that has not read its interrupt."""
        if request.tool in EXEMPT or session.over:
            return
        if await self._inbox.interrupted(self._store, session):
            raise ReplyReplaced(self._interrupt)

    async def apply(self, request: Request, session: Session | None, reply: Reply) -> Reply:
        """Add the field, or replace the reply if an interrupt came while the call ran."""
        if session is None or reply.replaced is not None or _is_gone(reply):
            return reply
        interrupts, ordinary = await self._inbox.kinds(session)
        if interrupts and request.tool not in EXEMPT:
            return await self._replace(request, session, reply)
        unread = interrupts or ordinary
        return reply.with_field("notification", self._unread if unread else self._none)

    async def _replace(self, request: Request, session: Session, reply: Reply) -> Reply:
        """Put the result away first: what cannot be kept is delivered rather than lost."""
        kept = False
        if request.tool not in _NEVER_KEPT:
            try:
                kept = await self._withheld.keep(request, session, reply)
            except Exception:
                logger.exception("the result of %s could not be withheld", request.tool)
        if not kept:
            return reply.with_field("notification", self._unread)
        return reply.replaced_by(self._interrupt)


def _is_gone(reply: Reply) -> bool:
    """Say whether the caller learns that it has no session: it could not read anything either."""
    return reply.error is not None and reply.error.code == "session_invalid"
