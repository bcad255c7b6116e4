"""A limit on how fast one session may call. Off unless ``[server] max_calls_per_second`` is set."""

from __future__ import annotations

from aipm_core import Authorizer, Call, CallError, Clock, Stage, Texts
from aipm_http_server.buckets import TokenBuckets


class RateLimit:
    """One bucket a session: it holds a second's worth of calls and refills steadily."""

    def __init__(self, per_second: float, texts: Texts, clock: Clock) -> None:
        self._rate = per_second
        self._texts = texts
        self._buckets = TokenBuckets(per_second, per_second, clock)

    def authorizer(self) -> Authorizer:
        """Return the check that holds the limit."""
        return Authorizer(name="max_calls_per_second", check=self._check, stage=Stage.GATE)

    async def _check(self, call: Call) -> None:
        # What people call is limited by the person, with room for a burst: `commands_per_second`.
        if call.caller.purpose != "ui" and not self._buckets.take(call.caller.id):
            text = self._texts("errors.rate_limited", rate=self._rate)
            raise CallError(text, code="rate_limited", status=429)
