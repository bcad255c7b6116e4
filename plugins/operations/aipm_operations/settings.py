"""Settings of the traces: ``[telemetry]``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class TelemetrySettings(BaseModel):
    """Whether calls are traced; ``OTEL_*`` variables say where the traces go."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    """One span a call; needs ``pip install 'aipm-runtime[otel]'``."""
