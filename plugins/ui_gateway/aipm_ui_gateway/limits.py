"""How much one person may ask of this server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from aipm_core import PluginContext
from aipm_ui_gateway.config import UiGatewayConfig

_BURST = 5.0  # seconds' worth of commands that may come at once


class Limits:
    """Counts connections, and lets commands through at a rate."""

    def __init__(
        self, ctx: PluginContext[UiGatewayConfig], now: Callable[[], float] = monotonic
    ) -> None:
        self._ctx = ctx
        self._now = now
        self._connections: Counter[str] = Counter()
        self._strangers = 0
        self._buckets: dict[str, tuple[float, float]] = {}

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

    @contextmanager
    def stranger(self) -> Iterator[None]:
        """Hold one of the places for connections that have not said who they are."""
        if self._strangers >= self._ctx.config.max_unauthenticated:
            raise self._ctx.refuse("too_many_connections", 429)
        self._strangers += 1
        try:
            yield
        finally:
            self._strangers -= 1

    def command(self, person_id: str) -> None:
        """Let one command through, or refuse it."""
        rate, now = self._ctx.config.commands_per_second, self._now()
        full = max(1.0, rate * _BURST)
        left, since = self._buckets.get(person_id, (full, now))
        left = min(full, left + (now - since) * rate)
        if left < 1:
            self._buckets[person_id] = (left, now)
            raise self._ctx.refuse("rate_limited", 429)
        self._buckets[person_id] = (left - 1, now)
