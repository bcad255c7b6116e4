"""Traces with OpenTelemetry, off unless asked for: one span a call, names and outcomes only.

Where spans go is said by the standard ``OTEL_*`` environment variables. Nothing a caller said is
in a span: no arguments, no results, no ids.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aipm_core import Carry, ConfigError, PluginContext, Reply, Request
from aipm_operations.settings import TelemetrySettings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

_SHUTDOWN_SECONDS = (
    3.0  # seconds to send the last spans: a collector that is gone must not hold up a stop
)
_SERVER_FAULT = 500


class Telemetry:
    """Makes a span of every call while the runtime is open, if the settings ask for it."""

    def __init__(self, ctx: PluginContext[TelemetrySettings]) -> None:
        self._ctx = ctx
        self._tracer: Tracer | None = None

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Send spans until the runtime is closed; the last ones go out in the end."""
        if not self._ctx.config.enabled:
            yield
            return
        provider = _provider()
        self._tracer = provider.get_tracer("aipm")
        try:
            yield
        finally:
            self._tracer = None
            _send_the_rest(provider)

    def tracing(self, carry: Carry) -> Carry:
        """Wrap the road of a call into a span; without traces, leave it alone."""
        if not self._ctx.config.enabled:
            return carry

        async def traced(request: Request) -> Reply:
            return await self._traced(carry, request) if self._tracer else await carry(request)

        return traced

    async def _traced(self, carry: Carry, request: Request) -> Reply:
        from opentelemetry.trace import SpanKind, StatusCode

        assert self._tracer is not None  # noqa: S101 - looked at by the caller  # nosec B101
        # A name nobody offers comes from outside and may be anything, so it is not told.
        known = self._ctx.gateway.find_tool(request.tool, request.audience) is not None
        name = f"tools/call {request.tool}" if known else "tools/call"
        with self._tracer.start_as_current_span(
            name, kind=SpanKind.SERVER, record_exception=False, set_status_on_exception=False
        ) as span:
            if known:
                span.set_attribute("gen_ai.tool.name", request.tool)
            reply = await carry(request)
            span.set_attribute("aipm.outcome", reply.outcome)
            if reply.error:
                span.set_attribute("error.type", reply.error.code)
            if reply.error and reply.error.status >= _SERVER_FAULT:
                span.set_status(StatusCode.ERROR)
            return reply


def _provider() -> TracerProvider:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError(
            "[telemetry] enabled = true needs OpenTelemetry: pip install 'aipm-runtime[otel]'"
        ) from error
    provider = TracerProvider(
        resource=Resource.create({"service.name": "aipm"}), shutdown_on_exit=False
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _send_the_rest(provider: TracerProvider) -> None:
    sending = threading.Thread(target=provider.shutdown, name="aipm-telemetry", daemon=True)
    sending.start()
    sending.join(_SHUTDOWN_SECONDS)
