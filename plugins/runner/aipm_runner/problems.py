"""What keeps a run from starting: an end reason, and one sentence that says what to do."""

from __future__ import annotations

from aipm_runner.api import EndReason


class Problem(Exception):
    """A run cannot go on. ``key`` names the sentence in the catalogue (``[problems]``)."""

    def __init__(self, reason: EndReason, key: str, /, **values: object) -> None:
        super().__init__(key)
        self.reason = reason
        self.key = key
        self.values = values
