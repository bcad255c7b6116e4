"""Text from others, made harmless where it is shown. Storage keeps it as it came."""

from __future__ import annotations

import unicodedata

_KEPT = frozenset("\n\t")
# Format characters reorder or hide text (bidi, zero width, tags); the joiner keeps emoji whole.
_JOINER = "\u200d"


def harmless(text: str) -> str:
    """Replace control, bidi, zero-width and other invisible characters by visible marks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in _KEPT or character == _JOINER:
        return character
    kind = unicodedata.category(character)
    if kind in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return f"\\u{ord(character):04x}"
    return character
