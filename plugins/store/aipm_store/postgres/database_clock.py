"""What time it is for everybody: the database's time, told by the clock of this machine.

Machines disagree about the time, by seconds where nobody looks after it. What servers compare
(leases, limits, the end of sessions) is therefore told by one clock. Asking it for every moment
would cost a trip each, so the difference is measured now and then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aipm_core import Clock

_QUERY = "select extract(epoch from clock_timestamp())::float8 as now"
_TRIES = 3
_SECONDS_BETWEEN = 60.0


class DatabaseClock:
    """Measures how far the clock of this machine is from the database's."""

    def __init__(self, wall: Clock = time.time) -> None:
        self._wall = wall
        self.ahead = 0.0  # seconds by which the database's clock is ahead of ours

    async def measure(self, ask: Callable[[str], Awaitable[list[Any]]]) -> None:
        """Ask what time it is; the answer that came fastest is the most exact one."""
        tries = [await self._tried(ask) for _ in range(_TRIES)]
        doubt, ahead = min(tries)
        if abs(ahead - self.ahead) > doubt:  # what is within doubt is no news, and no jump
            self.ahead = ahead

    async def _tried(self, ask: Callable[[str], Awaitable[list[Any]]]) -> tuple[float, float]:
        before, began = self._wall(), time.monotonic()
        rows = await ask(_QUERY)
        doubt = (time.monotonic() - began) / 2
        return doubt, rows[0]["now"] - (before + doubt)

    async def follow(self, ask: Callable[[str], Awaitable[list[Any]]]) -> None:
        """Measure again and again, until cancelled."""
        while True:
            await asyncio.sleep(_SECONDS_BETWEEN)
            await self.measure(ask)

    def shared(self, clock: Clock) -> Clock:
        """Return a clock that shows the database's time."""
        return lambda: clock() + self.ahead
