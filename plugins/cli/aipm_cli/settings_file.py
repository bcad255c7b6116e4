"""The settings file: TOML, laid over by the environment, every mistake named precisely."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from aipm_cli.settings import Settings, settings_model
from aipm_cli.settings_place import FILE, named, places
from aipm_cli.table_check import checked, unknown_key
from aipm_core import ConfigError, Json

_PREFIX = "AIPM_"


def find(path: Path | None) -> Path:
    """Return the settings file to use: the named one, ``aipm.toml`` here or above, the user's."""
    path = named(path)
    found = next((place for place in places(path) if place.is_file()), None)
    if found is not None:
        return found
    if path is not None:
        raise ConfigError(f"there is no settings file {path}; `aipm init` writes one")
    raise ConfigError(
        f"there is no {FILE} here or above; `aipm init` writes one, --config names another"
    )


def load(path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings file and the environment."""
    file = find(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from error
    return parse(table_of(text, str(file)), environ, file)


def table_of(text: str, where: str) -> dict[str, Json]:
    """Read TOML."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ConfigError(f"{where}: nested too deeply") from None
    except ValueError as error:  # not TOML, or a number of thousands of digits
        raise ConfigError(f"{where}: {error}") from error


def parse(table: Mapping[str, Json], environ: Mapping[str, str], file: Path) -> Settings:
    """Check a table of settings; paths in it are relative to ``file``."""
    merged, laid_over = dict(table), _overrides(environ)
    for name, keys in laid_over.items():
        _put(merged, keys, environ[name])
    where = f"{file} with {', '.join(laid_over)}" if laid_over else str(file)
    if "file" in merged:
        raise ConfigError(unknown_key(where, "file", _keys()))
    settings = checked(settings_model(), merged, where)
    base = file.resolve().parent
    return settings.model_copy(update={"data_dir": base / settings.data_dir, "file": file})


def _overrides(environ: Mapping[str, str]) -> dict[str, list[str]]:
    """Find ``AIPM_SECTION__KEY`` and the keys it stands for; other names are not ours to judge."""
    found: dict[str, list[str]] = {}
    for name in sorted(environ):
        keys = name.removeprefix(_PREFIX).lower().split("__")
        if not name.startswith(_PREFIX) or keys[0] not in _keys():
            continue
        if len(keys) > 1 or keys[0] not in _tables():
            found[name] = keys
    return found


def _keys() -> set[str]:
    return set(settings_model().model_fields) - {"file"}


def _tables() -> set[str]:
    return _keys() - {"data_dir", "locale", "person"}


def _put(table: dict[str, Json], path: list[str], value: str) -> None:
    *parents, key = path
    for parent in parents:
        inner = table.get(parent)
        table[parent] = dict(inner) if isinstance(inner, Mapping) else {}
        table = table[parent]
    table[key] = _literal(value)


def _literal(value: str) -> Json:
    """Read lists and numbers as TOML does; everything else is a string."""
    try:
        read = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return value
    return read["value"] if len(read) == 1 else value
