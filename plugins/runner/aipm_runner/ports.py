"""A block of ports for each run, so that servers of two runs do not meet."""

from __future__ import annotations

import socket

_LAST_PORT = 65_535


class PortBlocks:
    """The blocks of this process. One whose first port somebody else listens on is left out."""

    def __init__(self, first: int, size: int) -> None:
        self._first = first
        self._size = size
        self._taken: dict[str, int] = {}

    def take(self, run_id: str) -> str | None:
        """Return the ports of a run as ``20000-20009``; ``None`` if there are no more."""
        start = self._first
        while start + self._size - 1 <= _LAST_PORT:
            if start not in self._taken.values() and _is_free(start):
                self._taken[run_id] = start
                return f"{start}-{start + self._size - 1}"
            start += self._size
        return None

    def give_back(self, run_id: str) -> None:
        """Let others have a run's ports."""
        self._taken.pop(run_id, None)


def _is_free(port: int) -> bool:
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
