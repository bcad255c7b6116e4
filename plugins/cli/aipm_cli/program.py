"""Runtimes of the installed program: its plugins, on the store that the settings name."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from dataclasses import dataclass

from aipm_operations.api import INSTALLED, REDACTION
from aipm_store.api import engine_for, hide_in_events, with_log

from aipm_cli import discovery, logs
from aipm_cli.inventory import Inventory
from aipm_cli.settings import Settings
from aipm_core import (
    Clock,
    Migration,
    PluginClass,
    PluginError,
    ServeMode,
    steady_clock,
    system_clock,
)
from aipm_core.host import Runtime


@asynccontextmanager
async def open_runtime(
    settings: Settings,
    classes: Mapping[str, PluginClass] | None = None,
    clock: Clock = system_clock,
    steady: Clock | None = None,
    mode: ServeMode | None = None,
    *,
    feeding: bool = True,
) -> AsyncGenerator[Runtime]:
    """Open a runtime, with the plugins of the settings or with the given ones only.

    ``steady`` tells whether ``clock`` jumps: by default the machine's count, which goes with the
    system's clock; a clock of one's own is taken at its word. With a ``mode`` it is ready to serve.
    Without ``feeding`` no sink is shown anything: a short command would be cut in the middle of it.

    A plugin that fails stops the start, or is left out if its table says ``optional = true``: then
    everything is built and opened anew without it, so that nothing of it is left.
    """
    count = steady or (steady_clock if clock is system_clock else clock)
    start = _Start.of(settings, classes, mode)
    while True:
        runtime = start.built(clock, count)
        async with AsyncExitStack() as lives:
            lives.enter_context(_hiding(runtime))
            try:
                await lives.enter_async_context(runtime.opened(feeding=feeding))
                if mode is not None:
                    await lives.enter_async_context(runtime.serving(mode))
            except PluginError as error:
                start.leave_out(error)
                continue
            yield runtime
            return


def assemble(
    settings: Settings,
    classes: Mapping[str, PluginClass] | None = None,
    clock: Clock = system_clock,
    steady: Clock = steady_clock,
) -> Runtime:
    """Build a runtime; nothing is opened, created or started."""
    return _Start.of(settings, classes).built(clock, steady)


def _hiding(runtime: Runtime) -> AbstractContextManager[None]:
    """Take out of events and the log what plugins hide; replies and views ask for themselves."""
    redaction = runtime.services.find(REDACTION)
    if redaction is None or not redaction.active:
        return nullcontext()
    hide_in_events(runtime.events, redaction.json)
    return logs.redacting(redaction.text)


@dataclass(frozen=True, slots=True)
class _Start:
    """The plugins of a start: what was chosen, what remains of it, and what went wrong."""

    settings: Settings
    choices: Sequence[discovery.Choice]
    remaining: dict[str, PluginClass]
    failures: dict[str, str]
    people: bool = True
    """Whether a person can call anything."""

    @classmethod
    def of(
        cls,
        settings: Settings,
        classes: Mapping[str, PluginClass] | None,
        mode: ServeMode | None = None,
    ) -> _Start:
        """Take the given plugins, or load those of the settings that the mode has a use for."""
        failures: dict[str, str] = {}
        if classes is not None:
            return cls(settings, (), dict(classes), failures)
        people = mode is not ServeMode.STDIO
        choices = discovery.choose(discovery.installed(), settings)
        if not people:
            choices = [choice for choice in choices if not choice.found.server_only]
        classes = discovery.load(choices, settings, failures)
        return cls(settings, choices, classes, failures, people)

    def built(self, clock: Clock, steady: Clock) -> Runtime:
        """Build with what remains; an optional plugin that cannot be built is taken out of it."""
        installation = discovery.InstalledPlugins(self.choices, people=self.people)
        while True:
            engine = engine_for(self.settings)
            try:
                runtime = Runtime(
                    self.settings, engine, self.remaining, installation, clock, steady
                )
            except PluginError as error:
                self.leave_out(error)
                continue
            told = Inventory(self.settings, tuple(self.choices), self.failures, runtime)
            runtime.services.provide(INSTALLED, told)
            return runtime

    def leave_out(self, error: PluginError) -> None:
        """Go on without a plugin that may fail; for any other the start ends here."""
        if error.plugin not in self.remaining:
            raise error
        discovery.skip_optional(error, self.settings.of(error.plugin))
        self.failures[error.plugin] = error.reason
        del self.remaining[error.plugin]


def migrations_of(settings: Settings) -> dict[str, Sequence[Migration]]:
    """Return every step the installed program knows, by plugin. Nothing is opened."""
    return with_log(assemble(settings).migrations())
