"""User interfaces: events out, commands in, each session to its own people."""

from __future__ import annotations

import re
from collections.abc import Iterable

from aipm_http_server.api import Address, Route
from aipm_operations.api import Retention
from aipm_sessions.api import (
    DIRECTORY,
    PERSON_CALLS,
    SESSIONS,
    SessionKeeper,
)

from aipm_core import AnyTool, Authorizer, Migration, Plugin, PluginContext, PluginError, hookimpl
from aipm_ui_gateway.ag_ui.endpoint import AgUiEndpoint
from aipm_ui_gateway.ag_ui.threads import Threads
from aipm_ui_gateway.announcing import Announcing
from aipm_ui_gateway.api import UI_PORT, UI_SESSIONS, UiHooks
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.connection import Connections
from aipm_ui_gateway.endpoints.event_stream import EventStreamEndpoint
from aipm_ui_gateway.endpoints.post_command import CommandEndpoint
from aipm_ui_gateway.endpoints.schema import SchemaEndpoint
from aipm_ui_gateway.endpoints.websocket import WebSocketEndpoint
from aipm_ui_gateway.event_types import EVENT_TYPES, EventType
from aipm_ui_gateway.follow_access import FollowAccess
from aipm_ui_gateway.identity import Identity
from aipm_ui_gateway.limits import Limits
from aipm_ui_gateway.retention import RetentionRules
from aipm_ui_gateway.tables import MIGRATIONS
from aipm_ui_gateway.ui_commands.dispatch import Dispatch
from aipm_ui_gateway.ui_commands.session_commands import SessionCommands
from aipm_ui_gateway.ui_sessions import SqlUiSessions

_EVENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,63}")


class UiGateway(Plugin[UiGatewayConfig]):
    """The endpoints for people."""

    config_model = UiGatewayConfig
    hooks = UiHooks
    requires = (DIRECTORY, PERSON_CALLS, SESSIONS)
    provides = (UI_SESSIONS, UI_PORT)

    def __init__(self, ctx: PluginContext[UiGatewayConfig]) -> None:
        super().__init__(ctx)
        self._event_types: dict[str, EventType] = {}
        self._limits, self._identity = Limits(ctx), Identity(ctx)
        self._sessions = sessions = SqlUiSessions(ctx)
        self._retention = RetentionRules(ctx, sessions)
        self._follow_access = FollowAccess(ctx, sessions)
        self._session_commands = SessionCommands(ctx, sessions, self._follow_access)
        self._dispatch = Dispatch(ctx, self._limits)
        self._threads = Threads(ctx, sessions)
        self._connections = Connections(ctx, self._dispatch, self._follow_access, self._limits)
        ctx.services.provide(UI_SESSIONS, sessions)
        ctx.services.provide(UI_PORT, self._connections)

    def check_given(self) -> None:
        """Refuse a kind of event that is taken, or that nobody could tell from others."""
        known = dict(EVENT_TYPES)
        for owned in self.ctx.given(UiHooks.aipm_event_types):
            kind = owned.record
            if not _EVENT_NAME.fullmatch(kind.name):
                raise PluginError(owned.plugin, f"event type {kind.name!r}: use letters and digits")
            if kind.name in known or kind.payload in {one.payload for one in known.values()}:
                raise PluginError(owned.plugin, f"event type {kind.name!r} is given twice")
            known[kind.name] = kind
        self._event_types = known

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own people's sessions."""
        return MIGRATIONS

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget old events and commands; end sessions nobody uses, and forget them too."""
        return self._retention.records()

    @hookimpl
    def aipm_session_keepers(self) -> Iterable[SessionKeeper]:
        """Tell when a person's session is over."""
        yield SessionKeeper(name="ui_sessions", has_ended=self._sessions.has_ended)

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Open and close sessions, and announce."""
        yield from self._session_commands.tools()
        yield Announcing(self.ctx).announce_tool()

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Hold people to a rate."""
        yield self._limits.authorizer()

    @hookimpl
    def aipm_addresses(self) -> Iterable[Address]:
        """Tell where people's programs connect."""
        yield Address(name="ws", path="/ws", title="people", websocket=True)

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Offer the endpoints."""
        socket = WebSocketEndpoint(self.ctx, self._connections, self._identity, self._limits)
        events = EventStreamEndpoint(
            self.ctx, self._connections, self._identity, self._follow_access
        )
        commands = CommandEndpoint(self.ctx, self._dispatch, self._identity)
        ag_ui = AgUiEndpoint(
            self.ctx, self._connections, self._identity, self._dispatch, self._threads
        )
        yield Route(path="/ws", build=lambda _: socket, websocket=True)
        yield Route(path="/events", build=lambda _: events)
        yield Route(path="/commands", build=lambda _: commands, methods=("POST",), deadline=None)
        yield Route(
            path="/schema/events.json",
            build=lambda gateway: SchemaEndpoint(gateway, self._event_types),
        )
        for path in ("/ag-ui", "/ag-ui/{projectId}/{agentId}"):
            yield Route(path=path, build=lambda _: ag_ui, methods=("POST",), deadline=None)
