"""Agent loop: the agent a person talks to in a user interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

from aipm_operations.api import Retention
from aipm_policy.api import CONFIRMATIONS, ConfirmationObserver
from aipm_sessions.api import DIRECTORY
from aipm_ui_gateway.api import (
    UI_SESSIONS,
    BusyCheck,
    UiSessionObserver,
)

from aipm_agent_loop.api import AgentLoopHooks, ClosingProvider, ModelProvider
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.files import Files, ListFiles, ReadFile
from aipm_agent_loop.history import History
from aipm_agent_loop.input_queue import InputQueue
from aipm_agent_loop.provider_choice import ProviderChoice
from aipm_agent_loop.retention import RetentionRules, busy
from aipm_agent_loop.runs import Runs
from aipm_agent_loop.shell import Execute, Shell
from aipm_agent_loop.tables import MIGRATIONS
from aipm_agent_loop.toolbox import Toolbox
from aipm_agent_loop.turn import TurnMaker
from aipm_agent_loop.workers import Workers
from aipm_core import (
    Access,
    AnyTool,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    ServeMode,
    Tool,
    hookimpl,
)

_DEADLINE_MARGIN_SECONDS = 10.0


class AgentLoop(Plugin[AgentLoopConfig]):
    """Input, model, tools, message."""

    config_model = AgentLoopConfig
    hooks = AgentLoopHooks
    requires = (DIRECTORY, UI_SESSIONS)
    uses = (CONFIRMATIONS,)

    def __init__(self, ctx: PluginContext[AgentLoopConfig]) -> None:
        super().__init__(ctx)
        directory, sessions = ctx.services.use(DIRECTORY), ctx.services.use(UI_SESSIONS)
        confirmations = ctx.services.find(CONFIRMATIONS)
        self._guarded = confirmations is not None
        self._files, self._shell = Files(ctx, directory), Shell(ctx, directory)
        self._provider_choice = ProviderChoice(ctx)
        history = History(ctx)
        self._input_queue = input_queue = InputQueue(ctx, sessions)
        self._runs = runs = Runs(ctx, history, confirmations)
        self._turns = TurnMaker(ctx, history, runs, Toolbox(ctx, runs))
        self._workers = Workers(ctx, input_queue, runs, self._turns, sessions, directory)
        self._retention = RetentionRules(ctx, sessions)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own conversations and runs."""
        return MIGRATIONS

    @hookimpl
    def aipm_retention(self) -> Iterable[Retention]:
        """Forget conversations that ended long ago."""
        return self._retention.records()

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer people's agent files, and a shell where there is a policy."""
        yield Tool(
            name="file:read",
            run=self._files.read,
            arguments=ReadFile,
            access=Access.SESSION,
            audience="in_process",
            read_only=True,
        )
        yield Tool(
            name="file:list",
            run=self._files.list,
            arguments=ListFiles,
            access=Access.SESSION,
            audience="in_process",
            read_only=True,
        )
        if self._guarded:
            yield Tool(
                name="shell:execute",
                run=self._shell.execute,
                arguments=Execute,
                access=Access.SESSION,
                audience="in_process",
                destructive=True,
                deadline=self.ctx.config.shell_seconds + _DEADLINE_MARGIN_SECONDS,
            )

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Take what people say."""
        return self._input_queue.tools()

    @hookimpl
    def aipm_ui_session_observers(self) -> Iterable[UiSessionObserver]:
        """End the run of a session that is over."""
        yield UiSessionObserver(name="inbox", closed=self._input_queue.closed)

    @hookimpl
    def aipm_ui_busy_checks(self) -> Iterable[BusyCheck]:
        """Keep a session while a run goes on in it."""
        yield BusyCheck(name="runs", check=busy)

    @hookimpl(optionalhook=True)
    def aipm_confirmation_observers(self) -> Iterable[ConfirmationObserver]:
        """Tell when a run waits for a person."""
        yield ConfirmationObserver(name="runs", asked=self._runs.asked)

    @hookimpl
    def aipm_model_providers(self) -> Iterable[ModelProvider]:
        """Bring a scripted stand-in and, with the extra ``models``, real models."""
        return self._provider_choice.own()

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Work while people are served; then also take up what a crash has left."""
        yield Lifespan(name="agent_loop", open=self._life)
        yield Lifespan(
            name="agent_work",
            open=self._workers.working,
            serving=frozenset({ServeMode.SERVER}),
        )

    @asynccontextmanager
    async def _life(self) -> AsyncGenerator[None]:
        self._turns.provider = provider = self._provider_choice.chosen()
        async with self._workers.lifespan():
            yield
        if isinstance(provider, ClosingProvider):
            await provider.aclose()
