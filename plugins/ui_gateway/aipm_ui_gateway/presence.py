"""Who is at which session, so that one that nobody uses can be ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Presence:
    """Sessions that somebody follows in this process, or has used since it was last asked."""

    def __init__(self) -> None:
        self._present: dict[str, int] = {}
        self._used: set[str] = set()

    @contextmanager
    def at(self, session_id: str) -> Iterator[None]:
        """Count as being there until the block ends."""
        self._present[session_id] = self._present.get(session_id, 0) + 1
        try:
            yield
        finally:
            self.used(session_id)
            self._present[session_id] -= 1
            if not self._present[session_id]:
                del self._present[session_id]

    def used(self, session_id: str) -> None:
        """Note that a session was used just now."""
        self._used.add(session_id)

    def take(self) -> set[str]:
        """Return the sessions that are in use; a use counts once."""
        used, self._used = self._used, set()
        return {*used, *list(self._present)}
