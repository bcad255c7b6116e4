"""Settings of the store: ``[store]``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class StoreSettings(BaseModel):
    """Which engine keeps the data."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    url: str = "sqlite"
    """``sqlite``: one file in ``data_dir``; ``postgresql://USER:PASSWORD@HOST/NAME`` for several
    servers (better as ``AIPM_STORE__URL``: it holds a password)."""

    connections: int = Field(default=12, ge=5, le=500)
    """How many connections to PostgreSQL one server may have. Four are for writing, hearing and
    turns, the rest for reading; the sum over all servers must fit into ``max_connections``."""
