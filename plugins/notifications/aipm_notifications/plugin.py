"""Notifications: announced on every reply, and interrupts stop an agent until it reads them."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_operations.api import Retention
from aipm_sessions.api import DIRECTORY, SESSIONS
from aipm_views.api import View

from aipm_core import (
    Access,
    AnyTool,
    Authorizer,
    Migration,
    Phase,
    Plugin,
    PluginContext,
    ResponseMiddleware,
    Stage,
    Trait,
    hookimpl,
    tool,
)
from aipm_notifications.api import INBOX
from aipm_notifications.config import NotificationsConfig
from aipm_notifications.inbox import SqlInbox
from aipm_notifications.notice import InboxNotice
from aipm_notifications.reading import Reading
from aipm_notifications.retention import retention_rules
from aipm_notifications.sender import SENDER, Sender
from aipm_notifications.tables import MIGRATIONS
from aipm_notifications.views import notification_view
from aipm_notifications.withheld import Withheld


class Notifications(Plugin[NotificationsConfig]):
    """The inbox of every agent."""

    config_model = NotificationsConfig
    provides = (INBOX, SENDER)
    uses = (DIRECTORY, SESSIONS)

    def __init__(self, ctx: PluginContext[NotificationsConfig]) -> None:
        super().__init__(ctx)
        inbox, withheld = SqlInbox(ctx), Withheld(ctx)
        self._notice = InboxNotice(ctx, inbox, withheld)
        self._reading = Reading(ctx, withheld)
        ctx.services.provide(INBOX, inbox)
        self._sender = Sender(ctx, inbox)
        ctx.services.provide(SENDER, self._sender)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own notifications and withheld results."""
        return MIGRATIONS

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the way to read them."""
        yield tool(self._reading.get_notifications, access=Access.SESSION, traits=(Trait.WAY_OUT,))

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Let people leave one."""
        from aipm_notifications.people_tools import PeoplesTools

        yield PeoplesTools(self.ctx, self._sender).notify_tool()

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Let no tool run while an interrupt is unread."""
        yield Authorizer(name="interrupt", check=self._notice.check, stage=Stage.GATE)

    @hookimpl
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        """Say on every reply whether something is unread.

        If even that fails the reply is delivered as it is: the call has run, and its result must
        not be lost; the gate stands before the next one.
        """
        yield ResponseMiddleware(
            name="announce", apply=self._notice.apply, phase=Phase.REPLACE, on_error="skip"
        )

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        """Show what was sent to agents, and whether it has reached them."""
        yield notification_view()

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget what was read, what has expired, and results nobody came for."""
        return retention_rules(self.ctx.config)
