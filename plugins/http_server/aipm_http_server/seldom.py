"""One line in the log for many alike: who floods us must not fill our disk."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic

_APART = 60.0  # seconds between two lines


class Seldom:
    """Tells the first occurrence at once, and the others by their number."""

    def __init__(
        self, logger: logging.Logger, text: str, now: Callable[[], float] = monotonic
    ) -> None:
        self._logger = logger
        self._text = text
        self._now = now
        self._count = 0
        self._next = 0.0

    def note(self) -> None:
        """Count one more, and say so if nothing was said for a while."""
        self._count += 1
        now = self._now()
        if now >= self._next:
            self._logger.warning(self._text.format(count=self._count))
            self._count, self._next = 0, now + _APART
