"""Texts agents read, in Japanese and English, and texts from others, made safe to quote."""

from __future__ import annotations

import sys
import tomllib
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from aipm_core.models import Json

Locale: TypeAlias = Literal["ja", "en"]
LOCALES: tuple[Locale, ...] = ("ja", "en")
_KEPT = frozenset("\n\t")
# Format characters reorder or hide text (bidi, zero width, tags); the joiner keeps emoji whole.
_JOINER = "\u200d"
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# What could end a quotation in either language; categories Pi and Pf hold the other pairs.
_MARKS = frozenset('"`＂「」『』｢｣〝〞〟〈〉《》„‚')
_LONGEST_QUOTATION = 80  # characters


class Texts:
    """One catalogue: dotted keys to texts with ``{named}`` places."""

    def __init__(self, catalogue: Mapping[str, str], owner: str = "") -> None:
        self._catalogue = catalogue
        self.owner = owner

    @classmethod
    def load(cls, package: str, locale: Locale) -> Texts:
        """Read a package's catalogue; a package without one has no texts."""
        place = getattr(sys.modules[package], "__path__", None)
        file = Path(place[0]) / "locale" / f"{locale}.toml" if place else None
        if file is None or not file.is_file():
            return cls({}, package)
        return cls(dict(_flatten(tomllib.loads(file.read_text(encoding="utf-8")))), package)

    def __call__(self, key: str, /, **values: object) -> str:
        """Return the text of ``key`` with its places filled."""
        text = self._catalogue.get(key)
        if text is None:
            raise KeyError(f"no text {key!r} in the catalogue of {self.owner}")
        return text.format(**values) if values else text

    def find(self, key: str) -> str | None:
        """Return the raw text of ``key``, if there is one."""
        return self._catalogue.get(key)

    def keys(self) -> set[str]:
        """List the keys, so that a test can compare two languages."""
        return set(self._catalogue)


def _flatten(table: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value)


def visible(text: str) -> str:
    """Replace control, bidi, zero-width and other invisible characters by visible marks."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in _KEPT or character == _JOINER:
        return character
    hidden = unicodedata.category(character) in _UNSEEN
    return f"\\u{ord(character):04x}" if hidden else character


def quoted(text: str, limit: int = _LONGEST_QUOTATION) -> str:
    """Make text from others fit between quotation marks in a sentence of our own.

    One line, nothing that hides or reorders, no mark that could end the quotation, and at most
    ``limit`` characters and an ellipsis. The text as it is belongs in a field of its own.
    """
    line = visible(" ".join(text[: limit * 4].split()))
    line = "".join("'" if _is_mark(character) else character for character in line)
    cut = len(line) > limit or len(text) > limit * 4
    return f"{line[:limit].rstrip()}…" if cut else line


def _is_mark(character: str) -> bool:
    return character in _MARKS or unicodedata.category(character) in {"Pi", "Pf"}
