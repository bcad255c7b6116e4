"""Settings of traces and of the watch over plugins: ``[telemetry]``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class TelemetrySettings(BaseModel):
    """Whether calls are traced; ``OTEL_*`` variables say where the traces go."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    enabled: bool = False
    """One span a call; needs ``pip install 'aipm-runtime[otel]'``."""
    strict: bool = False
    """End a call that holds up the event loop for half a second, as ``aipm up --strict`` does."""
