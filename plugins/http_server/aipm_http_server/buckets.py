"""Token buckets: how fast somebody may do something, with room for a burst."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

_MOST = 10_000  # callers remembered; the one that came longest ago is forgotten first


class TokenBuckets:
    """One bucket a caller: it holds ``size`` tokens and refills at ``per_second``."""

    def __init__(self, per_second: float, size: float, now: Callable[[], float]) -> None:
        self._rate = per_second
        self._size = max(1.0, size)
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> bool:
        """Take one token of a caller; ``False`` if there is none."""
        now = self._now()
        left, since = self._buckets.pop(caller, (self._size, now))
        passed = max(0.0, now - since)  # a clock that is put back takes nothing away
        left = min(self._size, left + passed * self._rate)
        taken = left >= 1
        self._buckets[caller] = (left - 1 if taken else left, now)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return taken
