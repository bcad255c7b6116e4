"""Runner: the programs of agents, started when there is work and cleaned up after."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

from aipm_http_server.api import HTTP_SERVER, Route
from aipm_operations.api import Retention
from aipm_policy.api import ConfirmationObserver, Workplaces
from aipm_sessions.api import (
    DIRECTORY,
    MISSING_SESSIONS,
    PEOPLE,
    SESSIONS,
    WORK,
    AgentFields,
    DecisionSource,
    NeedState,
    SessionObserver,
)
from aipm_views.api import InboxSource, View, ViewFields

from aipm_core import (
    AnyTool,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    ServeMode,
    ServiceKey,
    hookimpl,
)
from aipm_runner.adapters.acp import ACP
from aipm_runner.adapters.claude import CLAUDE
from aipm_runner.adapters.codex import CODEX
from aipm_runner.adapters.command import COMMAND
from aipm_runner.adapters.gemini import GEMINI
from aipm_runner.adapters.opencode import OPENCODE
from aipm_runner.adapters.script import SCRIPT
from aipm_runner.agent_programs import FIELDS, AgentPrograms
from aipm_runner.api import RunnerAdapter, RunnerHooks
from aipm_runner.budgets import Budgets
from aipm_runner.changes import Changes
from aipm_runner.claims import RunClaims
from aipm_runner.config import RunnerConfig
from aipm_runner.conversation import Conversations
from aipm_runner.decisions import FailedRuns
from aipm_runner.guard import NativeGuard
from aipm_runner.inbox_items import FailedRunItems
from aipm_runner.leases import RunLeases
from aipm_runner.life import RunLife
from aipm_runner.lives import Lives
from aipm_runner.parking import Parking
from aipm_runner.people_tools import PeoplesTools
from aipm_runner.places import Places
from aipm_runner.programs import Programs
from aipm_runner.reaper import Reaper
from aipm_runner.remote_runners import RemoteRunners
from aipm_runner.remote_supervisor import RemoteSupervisor
from aipm_runner.retention import lives
from aipm_runner.routes import Routes
from aipm_runner.runner_routes import RunnerRoutes
from aipm_runner.runs import Runs
from aipm_runner.service import RUN_SERVICE, RunService
from aipm_runner.start_orders import StartOrders
from aipm_runner.start_states import StartStates
from aipm_runner.starting import Starting
from aipm_runner.stored_records import StoredRecords
from aipm_runner.supervisor import Supervisor
from aipm_runner.tables import MIGRATIONS
from aipm_runner.views import RunView
from aipm_runner.waits import RunWaits
from aipm_runner.workplaces import workplaces

SUPERVISOR = ServiceKey[Supervisor]("runner.supervisor")
REMOTE_SUPERVISOR = ServiceKey[RemoteSupervisor]("runner.remote_supervisor")


class Runner(Plugin[RunnerConfig]):
    """Idle until an agent has a program."""

    config_model = RunnerConfig
    hooks = RunnerHooks
    requires = (DIRECTORY, SESSIONS, MISSING_SESSIONS, PEOPLE, WORK)
    uses = (HTTP_SERVER,)
    provides = (RUN_SERVICE, SUPERVISOR, REMOTE_SUPERVISOR)

    def __init__(self, ctx: PluginContext[RunnerConfig]) -> None:
        super().__init__(ctx)
        runs, programs, leases = Runs(ctx), Programs(ctx), RunLeases(ctx)
        self._agents = agents = AgentPrograms(ctx, programs)
        places = Places(ctx)
        reaper, budgets = Reaper(ctx, runs, leases, places), Budgets(ctx, runs, agents)
        parking = Parking(ctx, runs)
        claims = RunClaims(ctx, runs, agents, budgets, parking)
        self._guard = NativeGuard(ctx)
        records = StoredRecords(ctx, runs, budgets, self._guard, parking)
        conversations = Conversations(ctx, runs)
        starting = Starting(ctx, programs, conversations)
        lives_here = Lives(RunLife(ctx, places, starting, conversations))
        self._failed = FailedRuns(ctx, runs, claims)
        self._supervisor = Supervisor(
            ctx, runs, agents, claims, leases, lives_here, reaper, records
        )
        orders = StartOrders(ctx, runs, agents)
        service = RunService(ctx, runs, Changes(ctx, runs), reaper)
        self._routes, self._waits = Routes(ctx, service), RunWaits(ctx, runs)
        runners = RemoteRunners(ctx, runs, claims, agents, budgets, records)
        self._runner_routes = RunnerRoutes(ctx, runners)
        remote = RemoteSupervisor(ctx, runs, leases, lives_here, places, programs)
        ctx.services.provide(REMOTE_SUPERVISOR, remote)
        self._view = RunView(service)
        self._states = StartStates(ctx, agents, claims, budgets)
        self._tools = PeoplesTools(ctx, runs, service, programs, agents, self._failed, orders)
        ctx.services.provide(RUN_SERVICE, service)
        ctx.services.provide(SUPERVISOR, self._supervisor)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own runs, their logs, and the programs of agents."""
        return MIGRATIONS

    @hookimpl(optionalhook=True)
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget runs that ended long ago."""
        return lives(self.ctx.config)

    @hookimpl
    def aipm_runner_adapters(self) -> Iterable[RunnerAdapter]:
        """Bring what agents commonly are, any command, and a stand-in that plays a script."""
        return (CLAUDE, CODEX, GEMINI, OPENCODE, ACP, COMMAND, SCRIPT)

    @hookimpl
    def aipm_agent_fields(self) -> Iterable[AgentFields]:
        """Keep which program an agent is."""
        agents = self._agents
        yield AgentFields(name="runner", fields=FIELDS, check=agents.check, change=agents.change)

    @hookimpl
    def aipm_need_states(self) -> Iterable[NeedState]:
        """Say of every need why an agent is started for it or not."""
        yield self._states.need_state()

    @hookimpl
    def aipm_decisions(self) -> Iterable[DecisionSource]:
        """Ask people about runs that are not tried again by themselves."""
        yield self._failed.source()

    @hookimpl
    def aipm_session_observers(self) -> Iterable[SessionObserver]:
        """See which runs have nothing to do."""
        yield SessionObserver(name="runs", waiting=self._waits.waiting)

    @hookimpl(optionalhook=True)
    def aipm_confirmation_observers(self) -> Iterable[ConfirmationObserver]:
        """See which runs wait for a person."""
        return self._waits.observers()

    @hookimpl(optionalhook=True)
    def aipm_workplaces(self) -> Iterable[Workplaces]:
        """Tell rules where programs work."""
        yield workplaces(self.ctx)

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Name the programs' own tools for rules."""
        return self._guard.tools()

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Let people start, stop and take back runs."""
        return self._tools.all()

    @hookimpl(optionalhook=True)
    def aipm_views(self) -> Iterable[View]:
        """Show runs."""
        yield self._view.view()

    @hookimpl(optionalhook=True)
    def aipm_view_fields(self) -> Iterable[ViewFields]:
        """Say of every agent what is run for it, and why it is started or not."""
        yield self._states.fields()

    @hookimpl(optionalhook=True)
    def aipm_inbox_items(self) -> Iterable[InboxSource]:
        """Wait for people about runs that are not tried again by themselves."""
        yield FailedRunItems(self.ctx, self._states).source()

    @hookimpl(optionalhook=True)
    def aipm_routes(self) -> Iterable[Route]:
        """Show logs and changes; serve runners on other machines."""
        yield from self._routes.all()
        yield from self._runner_routes.all()

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Start what is needed while the server runs."""
        yield Lifespan(name="runner_adapters", open=self._checked)
        yield Lifespan(name="runner", open=self._run, serving=frozenset({ServeMode.SERVER}))

    @asynccontextmanager
    async def _checked(self) -> AsyncGenerator[None]:
        self.ctx.check_names(RunnerHooks.aipm_runner_adapters)
        yield

    @asynccontextmanager
    async def _run(self) -> AsyncGenerator[None]:
        server = self.ctx.services.find(HTTP_SERVER)
        if server is None or not self.ctx.config.in_server:
            async with self._supervisor.reaping():
                yield
            return

        async def mcp_url() -> str:
            return f"{await server.url()}/mcp"

        async with self._supervisor.running(mcp_url):
            yield
