"""Which code of whom ran, and for how long: imports, constructors, hooks, lifespans, one call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, TypeVar

from aipm_store.api import engine_for

from aipm_cli import discovery
from aipm_cli.settings import Settings
from aipm_core import Json, Lifespan, Owned, PluginClass, Reply, Request
from aipm_core.host import Registered, Runtime

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One piece of a plugin's code that ran."""

    plugin: str
    what: str
    milliseconds: float


class Trace(discovery.InstalledPlugins):
    """An installation that notes how long everything takes."""

    def __init__(self, choices: list[discovery.Choice]) -> None:
        super().__init__(choices)
        self.steps: list[Step] = []

    @contextmanager
    def timed(self, plugin: str, what: str) -> Iterator[None]:
        """Note how long the block takes."""
        began = perf_counter()
        try:
            yield
        finally:
            took = (perf_counter() - began) * 1000
            self.steps.append(Step(plugin=plugin, what=what, milliseconds=round(took, 3)))

    @contextmanager
    def limited(self, plugin: str, what: str) -> Iterator[None]:
        """Hold plain code to its time, and note it."""
        with self.timed(plugin, what), super().limited(plugin, what):
            yield

    def alive(self, owned: Owned[Lifespan]) -> AbstractAsyncContextManager[None]:
        """Hold a lifespan open, and note how long it took to open."""
        return self._opened(owned)

    @asynccontextmanager
    async def _opened(self, owned: Owned[Lifespan]) -> AsyncGenerator[None]:
        life = super().alive(owned)
        with self.timed(owned.plugin, f"lifespan {owned.record.name}"):
            await life.__aenter__()
        try:
            yield
        finally:
            await life.__aexit__(None, None, None)

    def called(self, runtime: Runtime) -> Callable[[Request], Awaitable[Reply]]:
        """Return the road of a call in which every step is noted."""
        road, timing = runtime.pipeline, self._timing
        return replace(
            road,
            authenticators=[timing(one, "authenticator", "resolve") for one in road.authenticators],
            authorizers={
                stage: [timing(one, "authorizer", "check") for one in given]
                for stage, given in road.authorizers.items()
            },
            middleware=[timing(one, "middleware", "apply") for one in road.middleware],
            tools={who: self._tools(found) for who, found in road.tools.items()},
        )

    def _tools(self, tools: Mapping[str, Registered]) -> dict[str, Registered]:
        def timed(one: Registered) -> Registered:
            return replace(
                one, tool=self._timing(Owned(one.plugin, one.tool), "tool", "run").record
            )

        return {name: timed(one) for name, one in tools.items()}

    def _timing(self, owned: Owned[T], kind: str, function: str) -> Owned[T]:
        record: Any = owned.record
        plain: Callable[..., Awaitable[Any]] = getattr(record, function)

        async def noted(*values: object) -> Any:  # noqa: ANN401
            with self.timed(owned.plugin, f"{kind} {record.name}"):
                return await plain(*values)

        return Owned(owned.plugin, replace(record, **{function: noted}))


def trace(settings: Settings, tool: str | None, arguments: Mapping[str, Json]) -> list[Step]:
    """Load, build and open the program as it stands, call a tool if one is named, and end."""
    choices = discovery.choose(discovery.installed(), settings)
    noted = Trace(choices)
    classes: dict[str, PluginClass] = {}
    for choice in choices:
        if choice.enabled or choice.problem:
            with noted.timed(choice.found.name, "import"):
                classes |= discovery.load([choice], settings)
    classes = discovery.without_replaced(classes)
    asyncio.run(
        _run(noted, Runtime(settings, engine_for(settings), classes, noted), tool, arguments)
    )
    return noted.steps


async def _run(
    noted: Trace, runtime: Runtime, tool: str | None, arguments: Mapping[str, Json]
) -> None:
    async with runtime.opened(feeding=False):
        if tool is not None:
            await noted.called(runtime)(Request(tool=tool, arguments=arguments))
