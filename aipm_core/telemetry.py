"""Traces with OpenTelemetry, off unless asked for: one span a call, names and outcomes only.

Where spans go is said by the standard ``OTEL_*`` environment variables. Nothing a caller said is
in a span: no arguments, no results, no ids.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Container, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from aipm_core.errors import ConfigError
from aipm_core.models import Reply, Request

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

Carry: TypeAlias = Callable[[Request], Awaitable[Reply]]
_FAREWELL = 3.0  # seconds to send the last spans: a collector that is gone must not hold up a stop
_SERVER_FAULT = 500


@contextmanager
def traced(carry: Carry, tools: Container[str]) -> Iterator[Carry]:
    """Wrap the road of a call into a span, until the block ends."""
    provider = _provider()
    from opentelemetry.trace import SpanKind, StatusCode

    tracer = provider.get_tracer("aipm")

    async def watched(request: Request) -> Reply:
        # A name nobody offers comes from outside and may be anything, so it is not told.
        known = request.tool in tools
        name = f"tools/call {request.tool}" if known else "tools/call"
        with tracer.start_as_current_span(
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

    try:
        yield watched
    finally:
        _send_the_rest(provider)


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
    sending.join(_FAREWELL)
