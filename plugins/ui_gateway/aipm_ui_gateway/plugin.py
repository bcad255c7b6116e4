"""User interfaces: events out, commands in, each session to its own people."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_sessions.api import DIRECTORY, PEOPLE, SESSION_DESK

from aipm_core import Lifespan, Migration, Plugin, PluginContext, Route, hookimpl
from aipm_ui_gateway.ag_ui import AgUiDoor
from aipm_ui_gateway.api import COMMANDS, UI_PORT, UI_SESSIONS
from aipm_ui_gateway.board import Commands
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.connection import Lobby
from aipm_ui_gateway.dispatch import Dispatch
from aipm_ui_gateway.identity import Identity
from aipm_ui_gateway.limits import Limits
from aipm_ui_gateway.lookout import Lookout
from aipm_ui_gateway.opening import Opening
from aipm_ui_gateway.posting import CommandDoor
from aipm_ui_gateway.schema import SchemaDoor
from aipm_ui_gateway.sse import EventStreamDoor
from aipm_ui_gateway.sweeper import Sweeper
from aipm_ui_gateway.tables import MIGRATIONS
from aipm_ui_gateway.threads import Threads
from aipm_ui_gateway.ui_sessions import SqlUiSessions
from aipm_ui_gateway.websocket import WebSocketDoor


class UiGateway(Plugin[UiGatewayConfig]):
    """The doors for people."""

    config_model = UiGatewayConfig
    requires = (DIRECTORY, PEOPLE, SESSION_DESK)
    provides = (UI_SESSIONS, COMMANDS, UI_PORT)

    def __init__(self, ctx: PluginContext[UiGatewayConfig]) -> None:
        super().__init__(ctx)
        self._board, self._limits, self._identity = Commands(), Limits(ctx), Identity(ctx)
        sessions = SqlUiSessions(ctx)
        self._lookout = Lookout(ctx, sessions)
        Opening(ctx, self._board, sessions, self._lookout)
        self._dispatch = Dispatch(ctx, self._board, sessions, self._limits)
        self._threads = Threads(ctx, sessions)
        self._lobby = Lobby(ctx, self._dispatch, self._lookout, self._limits)
        ctx.services.provide(UI_SESSIONS, sessions)
        ctx.services.provide(COMMANDS, self._board)
        ctx.services.provide(UI_PORT, self._lobby)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own people's sessions and the ids of their commands."""
        return MIGRATIONS

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Open the doors."""
        socket = WebSocketDoor(self.ctx, self._lobby, self._identity, self._limits)
        events = EventStreamDoor(self.ctx, self._lobby, self._identity, self._lookout)
        commands = CommandDoor(self.ctx, self._dispatch, self._identity)
        schema = SchemaDoor(self._board)
        ag_ui = AgUiDoor(self.ctx, self._lobby, self._identity, self._dispatch, self._threads)
        yield Route(path="/ws", build=lambda _: socket, websocket=True)
        yield Route(path="/events", build=lambda _: events)
        yield Route(path="/commands", build=lambda _: commands, methods=("POST",))
        yield Route(path="/schema/events.json", build=lambda _: schema)
        for path in ("/ag-ui", "/ag-ui/{projectId}/{agentId}"):
            yield Route(path=path, build=lambda _: ag_ui, methods=("POST",))

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Sweep."""
        yield Lifespan(name="ui_sweeper", open=Sweeper(self.ctx).lifespan)
