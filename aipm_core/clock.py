"""What time it is, in the one format everything is stored and shown in."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]
system_clock: Clock = time.time
_LAST = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


def steady_clock() -> float:
    """Count seconds as the machine does, sleep included: nobody can set this clock."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def iso(seconds: float) -> str:
    """Format seconds since the epoch as ``2026-01-23T10:00:00.123Z``; sorts as text.

    Who keeps something for a million days means for ever, so moments stay within four-digit years.
    """
    moment = datetime.fromtimestamp(min(max(seconds, 0.0), _LAST), UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
