"""Puts the rooms together and opens the doors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pluggy
from pydantic import BaseModel

from aipm_core import events, telemetry
from aipm_core.clock import Clock, system_clock
from aipm_core.compiling import compile_pipeline
from aipm_core.config import Settings
from aipm_core.context import PluginClass, PluginContext
from aipm_core.contributions import (
    EventSink,
    Gate,
    HealthCheck,
    Lifespan,
    Owned,
    Route,
    Runs,
    Transport,
)
from aipm_core.errors import CallError, PluginError, StartupError, ToolNotFound
from aipm_core.events import EventLog
from aipm_core.meter import Meter
from aipm_core.models import Audience, Reply, Request, Session, StoredEvent
from aipm_core.pace import Pace
from aipm_core.pipeline import Pipeline, Registered
from aipm_core.plugins import discovery
from aipm_core.plugins.asking import ask
from aipm_core.plugins.building import build
from aipm_core.services import ServiceBoard
from aipm_core.store import Migration, Store, make_store
from aipm_core.texts import Texts
from aipm_core.tools import AnyTool
from aipm_core.upkeep import background

logger = logging.getLogger(__name__)
CORE = "aipm_core"


class Runtime:
    """A running aipm. Transports, routes and plugins see it as ``Gateway``."""

    manager: pluggy.PluginManager
    pipeline: Pipeline
    carry: telemetry.Carry
    routes: list[Owned[Route]]
    transports: list[Owned[Transport]]
    health_checks: list[Owned[HealthCheck]]

    def __init__(self, settings: Settings, clock: Clock = system_clock) -> None:
        self.settings = settings
        self.clock = clock
        self.services = ServiceBoard()
        self.meter = Meter()
        self.texts = Texts.load(CORE, settings.locale)
        self.engine = make_store(settings.store.url, settings.data_dir)
        self.events = EventLog(self.engine, clock)
        self.plugin_texts: dict[str, Texts] = {}

    @property
    def store(self) -> Store:
        """The open store."""
        return self.engine

    async def call(self, request: Request) -> Reply:
        """Carry one request through the pipeline."""
        reply = await self.carry(request)
        self.meter.count("calls", (("outcome", reply.outcome),))
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("call of %.64s: %s", request.tool, reply.outcome)
        return reply

    async def authenticate(self, credential: str) -> Session | None:
        """Say whose session a credential is."""
        return await self.pipeline.authenticate(credential)

    def catalog(self, audience: Audience = "agent") -> tuple[AnyTool, ...]:
        """Return the tools offered to agents, or all that user interfaces may reach, by name."""
        tools = (registered.tool for registered in self.registered())
        return tuple(tool for tool in tools if tool.audience in ("agent", audience))

    def registered(self) -> tuple[Registered, ...]:
        """Return every tool with its owner and schema, by name."""
        return tuple(self.pipeline.tools.values())

    def schema(self, tool: str) -> Mapping[str, Any]:
        """Return the JSON Schema agents are shown for a tool."""
        return self.pipeline.tools[tool].schema

    async def refusal(self, tool: AnyTool, session: Session | None) -> CallError | None:
        """Say why this caller may not use a tool now."""
        return await self.pipeline.refusal(tool, session)

    def follow(self, session_id: str, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Receive the events of one session, and system news."""
        return self.events.follow(session_id, after)

    def news(self, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Receive system news only."""
        return self.events.news(after)

    async def serve(self, runs: Runs) -> None:
        """Open the doors that belong to a command, until all are done."""
        async with anyio.create_task_group() as doors:
            for owned in self.transports:
                if owned.record.runs is runs:
                    doors.start_soon(owned.record.serve, self)

    def context(self, name: str, config: BaseModel, texts: Texts) -> PluginContext[Any]:
        """Make what one plugin is handed."""
        self.plugin_texts[name] = texts
        return PluginContext(
            name=name,
            config=config,
            texts=texts,
            locale=self.settings.locale,
            store=self.engine,
            events=self.events,
            services=self.services,
            gateway=self,
            meter=self.meter,
            clock=self.clock,
            data_dir=self.settings.data_dir,
            home=self.settings.file.parent if self.settings.file else Path(),
        )


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    classes: Mapping[str, PluginClass] | None = None,
    clock: Clock = system_clock,
) -> AsyncGenerator[Runtime]:
    """Build a runtime from the settings, or from the given plugins only, and open its store."""
    choices = discovery.choose(discovery.installed(), settings) if classes is None else []
    if classes is None:
        classes = discovery.load(choices, settings)
    runtime = assemble(settings, classes, clock, choices)
    async with AsyncExitStack() as lives:
        await lives.enter_async_context(runtime.engine.opened(_migrations(runtime.manager)))
        if settings.telemetry.enabled:
            traced = telemetry.traced(runtime.pipeline, runtime.pipeline.tools)
            runtime.carry = lives.enter_context(traced)
        await _start(runtime.manager, runtime, lives)
        yield runtime


def assemble(
    settings: Settings,
    classes: Mapping[str, PluginClass],
    clock: Clock = system_clock,
    choices: Sequence[discovery.Choice] = (),
) -> Runtime:
    """Build the plugins and compile what they give. Nothing is opened, created or started.

    A plugin that fails stops the start, or is left out if its table says ``optional = true``.
    """
    try:
        return _assembled(settings, classes, clock, choices)
    except PluginError as error:
        if error.plugin not in classes or not settings.of(error.plugin).optional:
            raise
        logger.warning("optional plugin %s skipped: %s", error.plugin, error.reason)
        others = {name: plugin for name, plugin in classes.items() if name != error.plugin}
        return assemble(settings, others, clock, choices)


def _assembled(
    settings: Settings,
    classes: Mapping[str, PluginClass],
    clock: Clock,
    choices: Sequence[discovery.Choice],
) -> Runtime:
    runtime = Runtime(settings, clock)
    runtime.manager = manager = build(classes, settings, runtime.context)
    runtime.pipeline = compile_pipeline(
        manager, runtime.texts, runtime.plugin_texts, _missing(runtime, choices), _pace(runtime)
    )
    runtime.carry = runtime.pipeline
    runtime.routes = ask(manager, "aipm_routes", Route)
    runtime.transports = ask(manager, "aipm_transports", Transport)
    runtime.health_checks = ask(manager, "aipm_health_checks", HealthCheck)
    return runtime


def migrations_of(settings: Settings) -> dict[str, list[Migration]]:
    """Return every step the installed program knows, by plugin. Nothing is opened."""
    choices = discovery.choose(discovery.installed(), settings)
    return _migrations(assemble(settings, discovery.load(choices, settings)).manager)


def _pace(runtime: Runtime) -> list[Owned[Gate]]:
    limit = runtime.settings.server.max_calls_per_second
    if not limit:
        return []
    return [Owned(CORE, Pace(limit, runtime.texts, runtime.clock).gate())]


def _migrations(manager: pluggy.PluginManager) -> dict[str, list[Migration]]:
    sets: dict[str, list[Migration]] = {CORE: events.MIGRATIONS}
    for owned in ask(manager, "aipm_migrations", Migration):
        sets.setdefault(owned.plugin, []).append(owned.record)
    return sets


async def _start(manager: pluggy.PluginManager, runtime: Runtime, lives: AsyncExitStack) -> None:
    for owned in ask(manager, "aipm_lifespan", Lifespan):
        life = owned.record
        try:
            async with asyncio.timeout(life.deadline):
                await lives.enter_async_context(life.open())
        except StartupError:
            raise
        except TimeoutError as error:
            problem = f"{life.name} did not start within {life.deadline} s"
            raise PluginError(owned.plugin, problem) from error
        except Exception as error:
            raise PluginError(owned.plugin, f"{life.name} failed to start: {error}") from error
    sinks = [(o.plugin, o.record) for o in ask(manager, "aipm_event_sinks", EventSink)]
    if sinks:
        feed = partial(runtime.events.feed, sinks)
        await lives.enter_async_context(background(event_sinks=feed))


def _missing(runtime: Runtime, choices: Sequence[discovery.Choice]) -> Callable[[str], CallError]:
    """Tell a tool that is switched off from one that does not exist."""

    def missing(tool: str) -> CallError:
        plugin = discovery.owner_of(tool, choices)
        if plugin is None:
            return ToolNotFound(runtime.texts("errors.tool_not_found", tool=tool))
        text = runtime.texts("errors.tool_disabled", tool=tool, plugin=plugin)
        return CallError(text, code="tool_disabled", status=404)

    return missing
