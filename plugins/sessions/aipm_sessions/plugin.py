"""Sessions: who is calling, for which project, and what for."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_core import (
    Access,
    AnyTool,
    Authenticator,
    Authorizer,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    Route,
    ServiceKey,
    hookimpl,
    tool,
)
from aipm_sessions.api import DECISIONS, DIRECTORY, GUIDANCE, PEOPLE, SESSION_DESK, WORK_BOARD
from aipm_sessions.boards import Decisions, StandingTexts, Work
from aipm_sessions.claims import Claims
from aipm_sessions.config import SessionsConfig
from aipm_sessions.credentials import PasskeyChecker
from aipm_sessions.desk import Desk
from aipm_sessions.directory import SqlDirectory
from aipm_sessions.guide import Guide
from aipm_sessions.login import Login
from aipm_sessions.metrics_route import MetricsRoute
from aipm_sessions.people import UiTokens
from aipm_sessions.registry import Registry
from aipm_sessions.roster import Roster
from aipm_sessions.tables import MIGRATIONS

REGISTRY = ServiceKey[Registry]("sessions.registry")
ROSTER = ServiceKey[Roster]("sessions.roster")


class Sessions(Plugin[SessionsConfig]):
    """Hands out session tokens and recognises them."""

    config_model = SessionsConfig
    provides = (DIRECTORY, SESSION_DESK, PEOPLE, WORK_BOARD, GUIDANCE, DECISIONS, REGISTRY, ROSTER)
    offers = ("authenticate", "help", "logout")

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        super().__init__(ctx)
        directory, passkeys = SqlDirectory(), PasskeyChecker()
        self._desk = Desk(ctx)
        self._login = Login(ctx, self._desk, directory, passkeys)
        self._guide = Guide(ctx)
        ctx.services.provide(DIRECTORY, directory)
        ctx.services.provide(SESSION_DESK, self._desk)
        people = UiTokens(ctx, directory)
        self._metrics = MetricsRoute(ctx, people)
        ctx.services.provide(PEOPLE, people)
        board, claims = Work(), Claims(ctx, self._desk)
        self._desk.observe(claims)
        ctx.services.provide(WORK_BOARD, board)
        ctx.services.provide(ROSTER, Roster(ctx, self._desk, directory, board, claims))
        ctx.services.provide(GUIDANCE, StandingTexts())
        ctx.services.provide(DECISIONS, Decisions())
        ctx.services.provide(REGISTRY, Registry(ctx, self._desk, directory, passkeys))

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own projects, agents, sessions and tokens."""
        return MIGRATIONS

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the way in, the way out, and the guide."""
        yield tool(self._login.authenticate, access=Access.ANYONE)
        yield tool(self._login.logout, access=Access.SESSION, idempotent=True)
        yield tool(self._guide.help, access=Access.ANYONE, read_only=True)

    @hookimpl
    def aipm_authenticators(self) -> Iterable[Authenticator]:
        """Recognise the tokens handed out."""
        yield Authenticator(name="session_token", resolve=self._desk.resolve)

    @hookimpl
    def aipm_authorizers(self) -> Iterable[Authorizer]:
        """Close the tools to sessions whose work is done."""
        yield Authorizer(name="session_over", check=self._desk.admit, static=True)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Keep sessions alive that are used, and end those that are not."""
        yield Lifespan(name="session_upkeep", open=self._desk.lifespan)

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Show the numbers to whoever has a token."""
        yield Route(path="/metrics", build=self._metrics.build)
