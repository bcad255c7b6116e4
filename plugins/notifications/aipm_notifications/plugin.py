"""Notifications: announced on every reply, and interrupts stop an agent until it reads them."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_sessions.api import DIRECTORY, SESSION_DESK

from aipm_core import (
    Access,
    AnyTool,
    Gate,
    Lifespan,
    Migration,
    Phase,
    Plugin,
    PluginContext,
    ResponseMiddleware,
    hookimpl,
    tool,
)
from aipm_notifications.announcer import Announcer
from aipm_notifications.api import INBOX
from aipm_notifications.config import NotificationsConfig
from aipm_notifications.inbox import SqlInbox
from aipm_notifications.reading import Reading
from aipm_notifications.sender import SENDER, Sender
from aipm_notifications.sweeper import Sweeper
from aipm_notifications.tables import MIGRATIONS
from aipm_notifications.withheld import Withheld


class Notifications(Plugin[NotificationsConfig]):
    """The inbox of every agent."""

    config_model = NotificationsConfig
    provides = (INBOX, SENDER)
    uses = (DIRECTORY, SESSION_DESK)
    offers = ("get_notifications",)

    def __init__(self, ctx: PluginContext[NotificationsConfig]) -> None:
        super().__init__(ctx)
        inbox, withheld = SqlInbox(ctx), Withheld(ctx)
        self._announcer = Announcer(ctx, inbox, withheld)
        self._reading = Reading(ctx, withheld)
        self._sweeper = Sweeper(ctx)
        ctx.services.provide(INBOX, inbox)
        ctx.services.provide(SENDER, Sender(ctx, inbox))

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own notifications and withheld results."""
        return MIGRATIONS

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the way to read them."""
        yield tool(self._reading.get_notifications, access=Access.SESSION)

    @hookimpl
    def aipm_gates(self) -> Iterable[Gate]:
        """Let no tool run while an interrupt is unread."""
        yield Gate(name="interrupt", check=self._announcer.check)

    @hookimpl
    def aipm_response_middleware(self) -> Iterable[ResponseMiddleware]:
        """Say on every reply whether something is unread.

        If even that fails the reply is delivered as it is: the call has run, and its result must
        not be lost; the gate stands before the next one.
        """
        yield ResponseMiddleware(
            name="announce", apply=self._announcer.apply, phase=Phase.REPLACE, on_error="skip"
        )

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Sweep."""
        yield Lifespan(name="notifications_sweeper", open=self._sweeper.lifespan)
