"""Random identifiers."""

from __future__ import annotations

import secrets


def new_id(prefix: str) -> str:
    """Make an id such as ``msg_3fK…``: 96 random bits, safe in a file name."""
    return f"{prefix}_{secrets.token_hex(12)}"
