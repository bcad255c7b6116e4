"""A limit on how fast one session may call. Off unless ``[server] max_calls_per_second`` is set."""

from __future__ import annotations

from collections import OrderedDict

from aipm_core.clock import Clock
from aipm_core.contributions import Gate
from aipm_core.errors import CallError
from aipm_core.models import Request, Session
from aipm_core.texts import Texts

_MOST = 10_000  # sessions remembered; the one that called longest ago is forgotten first


class Pace:
    """One bucket a session: it holds a second's worth of calls and refills steadily."""

    def __init__(self, per_second: float, texts: Texts, clock: Clock) -> None:
        self._rate = per_second
        self._size = max(1.0, per_second)
        self._texts = texts
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def gate(self) -> Gate:
        """Return the gate that holds the limit."""
        return Gate(name="max_calls_per_second", check=self._check)

    async def _check(self, request: Request, session: Session) -> None:
        now = self._clock()
        left, since = self._buckets.pop(session.id, (self._size, now))
        passed = max(0.0, now - since)  # a clock that is put back takes nothing away
        left = min(self._size, left + passed * self._rate)
        allowed = left >= 1
        self._buckets[session.id] = (left - 1 if allowed else left, now)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        if not allowed:
            text = self._texts("errors.rate_limited", rate=self._rate)
            raise CallError(text, code="rate_limited", status=429)
