"""``docs/plugin-index.md``: the plugins others wrote, from ``docs/plugin-index.toml``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().parent.parent / "docs" / "plugin-index.toml"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_KEYS = frozenset({"name", "summary", "home", "author", "kind", "install"})
_HEAD = """# Plugins
What others have written, and the examples of this repository. Nobody here has read all of it: a
plugin is code that runs in your server, so install what you trust. `aipm plugins check` asks one
our questions first.

A line is added by a change of `docs/plugin-index.toml`;
[here](guides/plugin-recipes.md#publishing) is how to publish one.

| plugin | what it does | kind | by | install |
|---|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = (_row(entry) for entry in sorted(entries(), key=lambda entry: str(entry["name"])))
    return _HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def entries() -> list[dict[str, Any]]:
    """Read the index; an entry that is not whole is an error."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = table["plugin"]
    for entry in found:
        if set(entry) != _KEYS or not all(isinstance(value, str) for value in entry.values()):
            raise ValueError(f"{entry.get('name')!r} needs the texts {sorted(_KEYS)}")
        if not _NAME.fullmatch(entry["name"]) or any("|" in text for text in entry.values()):
            raise ValueError(f"{entry['name']!r} is no name of a distribution, or a text has a |")
    return found


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    named = f"[{entry['name']}]({entry['home']})"
    command = f"`aipm plugins install {entry['install']}`"
    return named, entry["summary"], entry["kind"], entry["author"], command
