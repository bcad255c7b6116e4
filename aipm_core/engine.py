"""What the runtime sees of a database beside the store: opening, its event log, ending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from aipm_core.clock import Clock
from aipm_core.events import EventLog
from aipm_core.store import Migration, Store


class Engine(Store, Protocol):
    """A store that can be opened."""

    def opened(
        self, migrations: Mapping[str, Sequence[Migration]]
    ) -> AbstractAsyncContextManager[None]:
        """Open, bring the tables up to date, and close in the end."""

    def shared_clock(self, clock: Clock) -> Clock:
        """Return the clock that every process on this store agrees on, made from this one's."""

    def event_log(self, clock: Clock) -> EventLog:
        """Return the log of events that is kept in this store."""

    def end_waits(self) -> None:
        """Let every present and future wait return ``None`` at once: the program stops."""
