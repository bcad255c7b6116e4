"""Settings of the HTTP server: ``[server]``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ServerSettings(BaseModel):
    """Where ``aipm up`` listens, and for whom."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    host: str = "127.0.0.1"
    """Where to listen; beyond loopback, ``behind_tls_proxy`` and ``allowed_hosts`` are needed."""
    port: int = Field(default=8137, ge=0, le=65535)
    """The port; 0 takes any that is free."""
    allowed_hosts: tuple[str, ...] = ()
    """More ``Host`` headers to answer for; loopback names are known already."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may talk to the server, as ``https://host:port``."""
    behind_tls_proxy: bool = False
    """Your word that a proxy in front speaks TLS."""
    max_connections: int = Field(default=2000, ge=1)
    """Connections at once, never more than three quarters of ``ulimit -n``. An eighth, 64 at most,
    is kept for callers without a token; who has one and finds no place is told to come back (503).
    """
    max_idle_connections: int = Field(default=1000, ge=1)
    """Connections without a token and without a request under way; beyond that, or half of all, the
    one that has been silent for longest is closed."""
    max_idle_connections_per_address: int = Field(default=500, ge=1)
    """The same for one address; behind a proxy all callers have the same."""
    max_calls_per_second: float = Field(default=0, ge=0)
    """Calls one session may make; 0 is no limit."""
    request_seconds: float = Field(default=30, gt=0)
    """How long a request may take to arrive whole."""
    ping_seconds: float = Field(default=20, gt=0)
    """How often WebSockets are asked whether they are still there."""
