"""Names that people choose for projects and agents."""

from __future__ import annotations

import re

from aipm_core import CallError

# Directories are named after ids, so the form is strict and checked with fullmatch.
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
RESERVED = frozenset({"system", "human", "admin", "root", "all", "me", "aipm", "operator"})


def is_name(text: str) -> bool:
    """Return whether ``text`` may name a project or an agent."""
    return _NAME.fullmatch(text) is not None and text not in RESERVED


def check_name(text: str, what: str) -> str:
    """Return ``text`` if it may name a ``what``; otherwise say what a name looks like."""
    if text in RESERVED:
        raise CallError(f"{what} id {text!r} is reserved", code="invalid_id", status=400)
    if not is_name(text):
        raise CallError(
            f"{what} id {text!r} is not valid: use 1-64 of a-z, 0-9, '-' and '_', "
            "starting and ending with a letter or digit",
            code="invalid_id",
            status=400,
        )
    return text
