"""Agent loop: the agent a person talks to in a user interface."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

from aipm_policy.api import CONFIRMATIONS
from aipm_sessions.api import DIRECTORY
from aipm_ui_gateway.api import COMMANDS, UI_SESSIONS, CancelRun, SubmitUserInput

from aipm_agent_loop.api import PROVIDERS, ClosingProvider
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.files import Files, ListFiles, ReadFile
from aipm_agent_loop.history import History
from aipm_agent_loop.inbox import Inbox
from aipm_agent_loop.provision import Provision
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
    Tool,
    Transport,
    hookimpl,
)

_SLACK = 10.0


class AgentLoop(Plugin[AgentLoopConfig]):
    """Input, model, tools, message."""

    config_model = AgentLoopConfig
    provides = (PROVIDERS,)
    requires = (DIRECTORY, UI_SESSIONS, COMMANDS)
    uses = (CONFIRMATIONS,)
    offers = ("file:list", "file:read", "shell:execute")

    def __init__(self, ctx: PluginContext[AgentLoopConfig]) -> None:
        super().__init__(ctx)
        directory, sessions = ctx.services.use(DIRECTORY), ctx.services.use(UI_SESSIONS)
        confirmations = ctx.services.find(CONFIRMATIONS)
        self._guarded = confirmations is not None
        self._files, self._shell = Files(ctx, directory), Shell(ctx, directory)
        self._provision = Provision(ctx)
        history, inbox = History(ctx), Inbox(ctx)
        runs = Runs(ctx, history, confirmations)
        self._turns = TurnMaker(ctx, history, runs, Toolbox(ctx, runs))
        self._workers = Workers(ctx, inbox, runs, self._turns, sessions, directory)
        if confirmations is not None:
            confirmations.observe(runs)
        sessions.observe(inbox)
        commands = ctx.services.use(COMMANDS)
        commands.handle("submitUserInput", SubmitUserInput, inbox.submit)
        commands.handle("cancelRun", CancelRun, inbox.cancel)
        ctx.services.provide(PROVIDERS, self._provision)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own conversations and runs."""
        return MIGRATIONS

    @hookimpl
    def aipm_tools(self) -> Iterable[AnyTool]:
        """Offer the seed's tools to agents in user interfaces. No shell without a policy."""
        yield Tool(
            name="file:read",
            run=self._files.read,
            arguments=ReadFile,
            access=Access.SESSION,
            audience="ui",
            read_only=True,
        )
        yield Tool(
            name="file:list",
            run=self._files.list,
            arguments=ListFiles,
            access=Access.SESSION,
            audience="ui",
            read_only=True,
        )
        if self._guarded:
            yield Tool(
                name="shell:execute",
                run=self._shell.execute,
                arguments=Execute,
                access=Access.SESSION,
                audience="ui",
                destructive=True,
                deadline=self.ctx.config.shell_seconds + _SLACK,
            )

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Work while the runtime lives."""
        yield Lifespan(name="agent_loop", open=self._life)

    @asynccontextmanager
    async def _life(self) -> AsyncGenerator[None]:
        self._turns.provider = provider = self._provision.chosen()
        async with self._workers.lifespan():
            yield
        if isinstance(provider, ClosingProvider):
            await provider.aclose()

    @hookimpl
    def aipm_transports(self) -> Iterable[Transport]:
        """Take up, where people are served, what a crash has left."""
        yield Transport(name="agent_loop", serve=self._workers.serve)
