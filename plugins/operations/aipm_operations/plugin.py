"""Operations: sweeps what is old, counts and traces calls, reports code that blocks."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_http_server.api import HTTP_SERVER, Route

from aipm_core import (
    AnyTool,
    CallWrapper,
    Lifespan,
    Migration,
    Plugin,
    PluginContext,
    ServeMode,
    hookimpl,
)
from aipm_operations.api import METRICS, REDACTION, SWEEPER, OperationsHooks
from aipm_operations.metrics import Metrics
from aipm_operations.metrics_route import MetricsRoute
from aipm_operations.redaction import Redaction
from aipm_operations.retention import Sweeper
from aipm_operations.settings import TelemetrySettings
from aipm_operations.telemetry import Telemetry
from aipm_operations.trusted_time import MIGRATIONS, TrustedTime
from aipm_operations.watchdog import Watching


class Operations(Plugin[TelemetrySettings]):
    """What an operator needs to keep the program running."""

    config_model = TelemetrySettings
    own_section = True
    hooks = OperationsHooks
    provides = (METRICS, REDACTION, SWEEPER)
    uses = (HTTP_SERVER,)  # so that the routes are built before the watch begins

    def __init__(self, ctx: PluginContext[TelemetrySettings]) -> None:
        super().__init__(ctx)
        self._metrics = Metrics()
        self._redaction = Redaction(lambda: ctx.given(OperationsHooks.aipm_redactors))
        self._sweeper = Sweeper(ctx, TrustedTime(ctx.store, ctx.clock, ctx.steady))
        self._telemetry = Telemetry(ctx)
        self._watching = Watching(ctx, self._metrics)
        ctx.services.provide(METRICS, self._metrics)
        ctx.services.provide(REDACTION, self._redaction)
        ctx.services.provide(SWEEPER, self._sweeper)

    @hookimpl
    def aipm_migrations(self) -> Iterable[Migration]:
        """Own what is remembered of the clock."""
        return MIGRATIONS

    @hookimpl
    def aipm_people_tools(self) -> Iterable[AnyTool]:
        """Tell people which plugins there are, and whether one is well."""
        from aipm_operations.people_tools import PeoplesTools

        return PeoplesTools(self.ctx).all()

    @hookimpl
    def aipm_call_wrappers(self) -> Iterable[CallWrapper]:
        """Hide what must not be told, count every call, and trace it if that is wanted."""
        yield CallWrapper(name="redaction", wrap=self._redaction.wrapping)
        yield CallWrapper(name="metrics", wrap=self._metrics.counting)
        yield CallWrapper(name="telemetry", wrap=self._telemetry.tracing)

    @hookimpl
    def aipm_lifespan(self) -> Iterable[Lifespan]:
        """Sweep while the program runs; watch the event loop while it serves."""
        yield Lifespan(name="telemetry", open=self._telemetry.lifespan)
        yield Lifespan(name="retention", open=self._sweeper.lifespan)
        yield Lifespan(name="watchdog", open=self._watching.lifespan, serving=frozenset(ServeMode))

    @hookimpl
    def aipm_routes(self) -> Iterable[Route]:
        """Show the numbers to Prometheus."""
        yield Route(path="/metrics", build=MetricsRoute(self._metrics).build)
