"""Takes tokens and passkeys out of texts. They are known by their beginning."""

from __future__ import annotations

import re

SECRET = re.compile(r"aipm_(?:pk|st|ui|at)_[A-Za-z0-9_-]{16,}")


def redact(text: str) -> str:
    """Replace every token and passkey in a text."""
    return SECRET.sub("aipm_[redacted]", text)
