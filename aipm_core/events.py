"""The event log as plugins see it: durable, numbered per session, read from a kept place."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from aipm_core.models import Event, StoredEvent
from aipm_core.records import EventSink, Owned
from aipm_core.store import Reader, Tx


class EventLog(Protocol):
    """Writes events and hands out places to read from.

    A subscriber holds a place in the log, not a queue: a slow one falls behind and catches up,
    nobody waits for it. Events written by another process arrive too.
    """

    async def publish(self, event: Event) -> None:
        """Write one event in a transaction of its own."""

    async def record(self, tx: Tx, event: Event) -> None:
        """Write one event together with the change it tells of."""

    async def last_seq(self, session_id: str | None, db: Reader | None = None) -> int:
        """Return the number of the newest event of a session, or of system news."""

    async def kept(self, session_id: str, *types: str) -> list[StoredEvent]:
        """Return the last events of some types that a session still has, oldest first."""

    def follow(self, session_id: str, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Yield a session's events after ``after`` (default: from now on), and system events.

        Raises ``TooOld`` when events after that place are no longer kept, also for a reader that
        fell so far behind. Ends when the program stops.
        """

    def news(self, after: int | None = None) -> AsyncGenerator[StoredEvent]:
        """Yield system events only. Ends when the program stops."""

    async def forget(self, tx: Tx, before: float, keep: int = ...) -> int:
        """Forget events older than ``before`` and all but the last ``keep`` of each session.

        A bounded number at a time, so that nobody waits for it; returns how many went.
        """

    async def forget_session(self, tx: Tx, session_id: str) -> None:
        """Forget all events of a session that is over for good, and their count."""

    async def feed(self, sinks: Sequence[Owned[EventSink]]) -> None:
        """Show every event of the store to the sinks until the program stops."""
