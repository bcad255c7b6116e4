"""What legacy clients over HTTP said about themselves, kept in the memory of this process."""

from __future__ import annotations

from collections import OrderedDict

_MOST = 10_000


class Clients:
    """The sessions whose clients can ask their users. One that is forgotten is just not asked."""

    def __init__(self) -> None:
        self._asking: OrderedDict[str, None] = OrderedDict()

    def remember(self, session: str) -> None:
        """Note that the client of a session can ask its user."""
        self._asking[session] = None
        while len(self._asking) > _MOST:
            self._asking.popitem(last=False)

    def can_ask(self, session: str | None) -> bool:
        """Return whether the client of a session can ask its user."""
        if session is None or session not in self._asking:
            return False
        self._asking.move_to_end(session)
        return True
