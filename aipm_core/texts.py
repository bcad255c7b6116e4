"""Texts agents read, in Japanese and English: ``locale/ja.toml`` and ``locale/en.toml``."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from aipm_core.models import Json

Locale: TypeAlias = Literal["ja", "en"]
LOCALES: tuple[Locale, ...] = ("ja", "en")


class Texts:
    """One catalogue: dotted keys to texts with ``{named}`` places."""

    def __init__(self, catalogue: Mapping[str, str], owner: str = "") -> None:
        self._catalogue = catalogue
        self._owner = owner

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
            raise KeyError(f"no text {key!r} in the catalogue of {self._owner}")
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
