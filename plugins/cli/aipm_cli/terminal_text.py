"""JSON lines that a terminal can show."""

from __future__ import annotations

import json
import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def json_line(value: object) -> str:
    """Write JSON that a terminal can show: what it would obey or hide is escaped, as JSON may."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        json.dumps(character)[1:-1] if unicodedata.category(character) in _UNSEEN else character
        for character in text
    ).replace("\x7f", "\\u007f")
