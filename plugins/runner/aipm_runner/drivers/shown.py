"""What a program says and does, as lines of the log."""

from __future__ import annotations

import json

from aipm_core import Json

_LONGEST = 500


def one_line(value: Json) -> str:
    """Write a value on one short line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " […]"
