"""The codes a caller can look up."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"


@cache
def documented() -> frozenset[str]:
    """Return every code of the reference, except for the one that means a bug of ours."""
    found = re.findall(r"^\| `([a-z_]+)` \|", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(found) - {"internal_error", "store_unavailable"}
