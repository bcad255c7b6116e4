"""Logs go to stderr, one line a record, with secrets taken out."""

from __future__ import annotations

import logging
import re
import sys

SECRET = re.compile(r"aipm_(?:pk|st|ui)_[A-Za-z0-9_-]{16,}")


class Redacting(logging.Formatter):
    """A formatter that no token or passkey gets through."""

    def format(self, record: logging.LogRecord) -> str:
        """Format one record; a traceback stays below its line."""
        return redact(super().format(record))


def redact(text: str) -> str:
    """Replace every token and passkey in a text."""
    return SECRET.sub("aipm_[redacted]", text)


def to_stderr(level: int = logging.WARNING) -> None:
    """Send the program's log to stderr; calling it again only changes the level."""
    root = logging.getLogger()
    root.setLevel(level)
    if not any(isinstance(handler.formatter, Redacting) for handler in root.handlers):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        root.addHandler(handler)
