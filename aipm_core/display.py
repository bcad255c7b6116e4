"""Text from others, made harmless where it is shown. Storage keeps it as it came."""

from __future__ import annotations

import json
import unicodedata

_KEPT = frozenset("\n\t")
# Format characters reorder or hide text (bidi, zero width, tags); the joiner keeps emoji whole.
_JOINER = "\u200d"


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def harmless(text: str) -> str:
    """Replace control, bidi, zero-width and other invisible characters by visible marks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in _KEPT or character == _JOINER:
        return character
    hidden = unicodedata.category(character) in _UNSEEN
    return f"\\u{ord(character):04x}" if hidden else character


def json_line(value: object) -> str:
    """Write JSON that a terminal can show: what it would obey or hide is escaped, as JSON may."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        json.dumps(character)[1:-1] if unicodedata.category(character) in _UNSEEN else character
        for character in text
    ).replace("\x7f", "\\u007f")
