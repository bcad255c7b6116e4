"""Which plugins a settings file switches on, read before anything else is imported.

Only for commands of other distributions, of which nothing may run before somebody named them. What
is wrong with the file is told by whoever reads all of it; here it names nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from aipm_cli.settings_place import places

_VARIABLE = "AIPM_PLUGINS__"


def config_of(words: Sequence[str]) -> Path | None:
    """Return what ``--config`` says on a command line."""
    for place, word in enumerate(words):
        if word == "--":
            break
        if word == "--config" and place + 1 < len(words):
            return Path(words[place + 1])
        if word.startswith("--config="):
            return Path(word.partition("=")[2])
    return None


def named_plugins(
    config: Path | None, environ: Mapping[str, str] = os.environ
) -> dict[str, Mapping[str, Any]]:
    """Return the tables of the plugins that are named and not switched off."""
    tables = {name: dict(table) for name, table in _tables(config)}
    for variable in sorted(environ):
        name, _, key = variable.removeprefix(_VARIABLE).lower().partition("__")
        if variable.startswith(_VARIABLE) and key:
            tables.setdefault(name, {})[key] = environ[variable]
    return {name: table for name, table in tables.items() if _is_on(table.get("enabled", True))}


def _tables(config: Path | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    file = next((place for place in places(config) if place.is_file()), None)
    if file is None:
        return
    import tomllib

    try:
        plugins = tomllib.loads(file.read_text(encoding="utf-8")).get("plugins")
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(plugins, Mapping):
        yield from ((name, table) for name, table in plugins.items() if isinstance(table, Mapping))


def _is_on(enabled: object) -> bool:
    return enabled is True or str(enabled).lower() in ("true", "1", "on", "yes")
