"""Puts plugins, pipeline and store together: the runtime, and how one is opened."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from aipm_core.background_work import background
from aipm_core.clock import Clock, steady_clock, system_clock
from aipm_core.engine import Engine
from aipm_core.errors import CallError, ToolNotFound
from aipm_core.loading.building import build
from aipm_core.loading.collecting import ask
from aipm_core.loading.hook_owners import CORE, known_hooks
from aipm_core.loading.installation import Installation
from aipm_core.models import Audience, Reply, Request, Session, StoredEvent
from aipm_core.pipeline.arguments import refusal_of
from aipm_core.pipeline.build import compile_pipeline
from aipm_core.pipeline.registered import Registered
from aipm_core.plugin import Given, Plugin, PluginClass, PluginContext, Services
from aipm_core.records import CallWrapper, Carry, EventSink, Lifespan, Owned, ServeMode, Transport
from aipm_core.settings import BaseSettings
from aipm_core.store import Migration, Store
from aipm_core.texts import Texts
from aipm_core.tools import TABLES, AnyTool

logger = logging.getLogger(__name__)
R = TypeVar("R")


class Runtime:
    """The plugins of one program, built and asked. Transports and plugins see it as ``Gateway``.

    Nothing is opened, created or started by making one; :meth:`opened` does that.
    """

    def __init__(
        self,
        settings: BaseSettings,
        engine: Engine,
        classes: Mapping[str, PluginClass],
        installation: Installation | None = None,
        clock: Clock = system_clock,
        steady: Clock = steady_clock,
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.clock = engine.shared_clock(clock)
        self.services = Services()
        self.texts = Texts.load(CORE, settings.locale)
        self.events = engine.event_log(self.clock)
        self.plugin_texts: dict[str, Texts] = {}
        self._steady = steady
        self._installation = installation or Installation()
        self._given = Given()
        hooks = known_hooks(classes)
        self.manager = build(classes, settings, self._context, hooks, self._installation)
        owned_hooks = [hook for hook in hooks.values() if hook.owner != CORE]
        self._given.fill({h.name: tuple(ask(self.manager, h.name, h.kind)) for h in owned_hooks})
        for plugin in self.manager.get_plugins():
            cast("Plugin[Any]", plugin).check_given()
        self.pipeline = compile_pipeline(self.manager, self.texts, self.plugin_texts, self._missing)
        self.carry: Carry = self.pipeline
        for owned in reversed(ask(self.manager, "aipm_call_wrappers", CallWrapper)):
            self.carry = owned.record.wrap(self.carry)
        self.transports = ask(self.manager, "aipm_transports", Transport)
        self.lifespans = ask(self.manager, "aipm_lifespan", Lifespan)

    @property
    def store(self) -> Store:
        """The open store."""
        return self.engine

    async def call(self, request: Request) -> Reply:
        """Carry one request through the pipeline."""
        reply = await self.carry(request)
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("call of %.64s: %s", request.tool, reply.outcome)
        return reply

    async def authenticate(self, credential: str, audience: Audience = "agent") -> Session | None:
        """Return which agent's session, or which person's, a credential is."""
        return await self.pipeline.authenticate(credential, audience)

    async def knows(self, credential: str) -> bool:
        """Return whether a credential is anybody's; where the answer fails, it is not."""
        return await self.pipeline.knows(credential)

    def plugins(self) -> Mapping[str, str]:
        """Return the plugins that are on, each with the package its class lives in."""
        return {
            name: type(plugin).__module__.partition(".")[0]
            for name, plugin in self.manager.list_name_plugin()
        }

    def find_tool(self, name: str, audience: Audience = "agent") -> AnyTool | None:
        """Return a tool by its name, whoever of that audience may use it."""
        registered = self.pipeline.tools[audience].get(name)
        return registered.tool if registered else None

    def catalog(self, audience: Audience = "agent") -> tuple[AnyTool, ...]:
        """Return the tools that exist for an audience, by name."""
        return tuple(registered.tool for registered in self.pipeline.tools[audience].values())

    def registered(self) -> tuple[Registered, ...]:
        """Return every tool with its owner and schema, by audience and name."""
        catalogs = self.pipeline.tools.items()
        return tuple(r for who, found in catalogs for r in found.values() if r.tool.audience == who)

    def schema(self, tool: str, audience: Audience = "agent") -> Mapping[str, Any]:
        """Return the JSON Schema that callers are shown for a tool."""
        return deepcopy(self.pipeline.tools[audience][tool].schema)

    async def refusal(self, tool: AnyTool, session: Session | None) -> CallError | None:
        """Return why this caller may not use a tool now."""
        return await self.pipeline.refusal(tool, session)

    def follow(self, session_id: str, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Receive the events of one session, and system news."""
        return self.events.follow(session_id, after)

    def news(self, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Receive system news only."""
        return self.events.news(after)

    def given(self, hook: Callable[[Any], Iterable[R]]) -> tuple[Owned[R], ...]:
        """Return what plugins gave to a hook that a plugin owns; nothing while its owner is off."""
        return self._given.to(hook.__name__)

    def migrations(self) -> dict[str, list[Migration]]:
        """Return the steps that make and change the plugins' tables, by plugin."""
        sets: dict[str, list[Migration]] = {}
        for owned in ask(self.manager, "aipm_migrations", Migration):
            sets.setdefault(owned.plugin, []).append(owned.record)
        return sets

    @asynccontextmanager
    async def opened(self, *, feeding: bool = True) -> AsyncGenerator[None]:
        """Open the store, start what plugins hold open, feed their sinks; end all in the end."""
        async with AsyncExitStack() as lives:
            await lives.enter_async_context(self.engine.opened(self.migrations()))
            for owned in self.lifespans:
                if owned.record.serving is None:
                    await lives.enter_async_context(self._installation.alive(owned))
            sinks = ask(self.manager, "aipm_event_sinks", EventSink)
            if sinks and feeding:
                feed = partial(self.events.feed, sinks)
                await lives.enter_async_context(background(event_sinks=feed))
            yield

    @asynccontextmanager
    async def serving(self, mode: ServeMode) -> AsyncGenerator[None]:
        """Hold open what plugins have only while the program serves in a mode."""
        async with AsyncExitStack() as lives:
            for owned in self.lifespans:
                if owned.record.serving is not None and mode in owned.record.serving:
                    await lives.enter_async_context(self._installation.alive(owned))
            yield

    async def serve(self, mode: ServeMode) -> None:
        """Run the transports of a mode until all are done; call it inside :meth:`serving`."""
        chosen = [owned for owned in self.transports if owned.record.mode is mode]
        await self._installation.serve(chosen, self, self.store)

    def _context(self, name: str, config: BaseModel, texts: Texts) -> PluginContext[Any]:
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
            clock=self.clock,
            steady=self._steady,
            data_dir=self.settings.data_dir,
            home=self.settings.file.parent if self.settings.file else Path(),
            invalid=partial(refusal_of, texts=self.texts, own=texts),
            contributions=self._given,
        )

    def _missing(self, request: Request) -> CallError:
        """Tell a tool that is switched off from one that does not exist."""
        plugin = self._installation.owner_of(f"{TABLES[request.audience]}.{request.tool}")
        if plugin is None:
            return ToolNotFound(self.texts("errors.tool_not_found", tool=request.tool))
        text = self.texts("errors.tool_disabled", tool=request.tool, plugin=plugin)
        return CallError(text, code="tool_disabled", status=404)
