"""Slots for WebSockets that have not authenticated: the newest gets one, the oldest goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class Slot:
    """One connection; ``leave`` is called when another takes its slot."""

    address: str
    leave: Callable[[], None]
    lost: bool = False


class UnauthenticatedConnections:
    """Counts connections in total and by address; who just came is about to authenticate."""

    def __init__(self, most: int, most_per_address: int) -> None:
        self._most = most
        self._most_per_address = most_per_address
        self._slots: dict[Slot, None] = {}  # oldest first

    @contextmanager
    def slot(self, address: str, leave: Callable[[], None]) -> Iterator[Slot]:
        """Hold a slot until the block ends or it is needed for another."""
        here = [slot for slot in self._slots if slot.address == address]
        if len(here) >= self._most_per_address:
            self._take(here[0])
        elif len(self._slots) >= self._most:
            self._take(next(iter(self._slots)))
        made = Slot(address, leave)
        self._slots[made] = None
        try:
            yield made
        finally:
            self._slots.pop(made, None)

    def _take(self, slot: Slot) -> None:
        del self._slots[slot]
        slot.lost = True
        slot.leave()
