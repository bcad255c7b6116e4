"""How much one person may ask of this server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from aipm_http_server.api import TokenBuckets

from aipm_core import Authorizer, Call, PluginContext, Stage
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.unauthenticated import UnauthenticatedConnections

_BURST_SECONDS = 5.0  # that much worth of commands may come at once


class Limits:
    """Counts connections, and lets what people call through at a rate."""

    def __init__(
        self, ctx: PluginContext[UiGatewayConfig], now: Callable[[], float] = monotonic
    ) -> None:
        self._ctx = ctx
        self._connections: Counter[str] = Counter()
        config = ctx.config
        self.unauthenticated = UnauthenticatedConnections(
            config.max_unauthenticated, config.max_unauthenticated_per_address
        )
        rate = config.commands_per_second
        self._buckets = TokenBuckets(rate, rate * _BURST_SECONDS, now)

    @contextmanager
    def connection(self, person_id: str) -> Iterator[None]:
        """Hold one of a person's connections; refuses when all are taken."""
        if self._connections[person_id] >= self._ctx.config.max_connections_per_person:
            raise self._ctx.refuse("too_many_connections", 429)
        self._connections[person_id] += 1
        try:
            yield
        finally:
            self._connections[person_id] -= 1
            self._connections += Counter()  # drops those at zero

    def authorizer(self) -> Authorizer:
        """Return the check that holds the rate, whichever way a person's call comes in."""
        return Authorizer(name="commands_per_second", check=self._check, stage=Stage.GATE)

    async def _check(self, call: Call) -> None:
        if call.request.audience == "ui":
            self.command(call.caller.agent_id)

    def command(self, person_id: str) -> None:
        """Let one command through, or refuse it."""
        if not self._buckets.take(person_id):
            raise self._ctx.refuse("rate_limited", 429)
