"""Settings: one TOML file, one table per plugin, every mistake named precisely."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aipm_core.errors import ConfigError
from aipm_core.logs import Form, Level
from aipm_core.models import Json
from aipm_core.texts import Locale

FILE = "aipm.toml"
_PREFIX = "AIPM_"
_SECTIONS = frozenset({"server", "store", "log", "telemetry", "plugins"})
_LARGEST = 2**53  # beyond it no time-out can be set and no date be written
M = TypeVar("M", bound=BaseModel)


class ServerSettings(BaseModel):
    """Where ``aipm up`` listens, and for whom."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = "127.0.0.1"
    """Where to listen; beyond loopback, ``behind_tls_proxy`` and ``allowed_hosts`` are needed."""
    port: int = Field(default=8137, ge=0, le=65535)
    """The port; 0 takes any that is free."""
    allowed_hosts: tuple[str, ...] = ()
    """More ``Host`` headers to answer for; loopback names are known already."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may talk to the server, as ``https://host:port``."""
    behind_tls_proxy: bool = False
    """Your word that a proxy in front speaks TLS."""
    max_connections: int = Field(default=2000, ge=1)
    """Connections and requests at once; more are told to come back (503)."""
    max_calls_per_second: float = Field(default=0, ge=0)
    """Calls one session may make; 0 is no limit."""
    request_seconds: float = Field(default=30, gt=0)
    """How long a request may take to arrive whole."""
    ping_seconds: float = Field(default=20, gt=0)
    """How often WebSockets are asked whether they are still there."""


class StoreSettings(BaseModel):
    """Which engine keeps the data."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = "sqlite"
    """``sqlite``: one file in ``data_dir``; ``postgresql://USER:PASSWORD@HOST/NAME`` for several
    servers (better as ``AIPM_STORE__URL``: it holds a password)."""


class LogSettings(BaseModel):
    """What is told on stderr, and in which form."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    level: Level = "warning"
    """The least that is told."""
    format: Form = "text"
    """Lines for people, or JSON lines for machines."""


class TelemetrySettings(BaseModel):
    """Whether calls are traced; ``OTEL_*`` variables say where the traces go."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = False
    """One span a call; needs ``pip install 'aipm-runtime[otel]'``."""


class PluginSettings(BaseModel):
    """What every plugin table may say; the rest belongs to the plugin."""

    model_config = ConfigDict(extra="allow", frozen=True)

    enabled: bool | None = None
    """On or off. Left out: on for aipm's own plugins, and for others that have a table."""
    optional: bool = False
    """Start without the plugin if it is broken, instead of not starting."""

    def own(self) -> Mapping[str, Any]:
        """Return the keys that belong to the plugin."""
        return self.model_extra or {}


class Settings(BaseModel):
    """The whole configuration."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_dir: Path = Path(".aipm-data")
    """Where the database lives, private to you; relative to the settings file."""
    locale: Locale = "ja"
    """The language of the texts agents read."""
    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    log: LogSettings = LogSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    plugins: Mapping[str, PluginSettings] = Field(default_factory=dict[str, PluginSettings])
    file: Path | None = Field(default=None, exclude=True)

    def of(self, plugin: str) -> PluginSettings:
        """Return the table of one plugin."""
        return self.plugins.get(plugin, PluginSettings())


def find(path: Path | None) -> Path:
    """Return the settings file to use: the given one, ``./aipm.toml``, the user's own."""
    if path is not None:
        if not path.is_file():
            raise ConfigError(f"there is no settings file {path}; `aipm init` writes one")
        return path
    for candidate in (Path(FILE), user_file()):
        if candidate.is_file():
            return candidate
    raise ConfigError(f"there is no {FILE} here; `aipm init` writes one, --config names another")


def user_file() -> Path:
    """Return where a user's own settings file would be."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "aipm" / FILE


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
        raise ConfigError(unknown_key(where, "file", _names(Settings)))
    settings = checked(Settings, merged, where)
    base = file.resolve().parent
    return settings.model_copy(update={"data_dir": base / settings.data_dir, "file": file})


def checked(model: type[M], values: Mapping[str, Json], where: str) -> M:
    """Validate ``values``, or say in one sentence which key is wrong and why."""
    if model.model_config.get("extra") != "allow":
        for key in values:
            if key not in _names(model):
                raise ConfigError(unknown_key(where, key, _names(model)))
    try:
        made = model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"{where}: {_problem(model, error)}") from error
    for place, number in _numbers(made.model_dump()):
        if not -_LARGEST <= number <= _LARGEST:  # nor is NaN within any bounds
            raise ConfigError(f"{where}: {place}: {number!r:.40} is no number to work with")
    return made


def unknown_key(where: str, key: str, known: Iterable[str]) -> str:
    """Say that a key is unknown, and which one was probably meant."""
    names = sorted(known)
    near = get_close_matches(key, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(names) or 'none'}"
    return f"{where}: unknown key {key!r}; {hint}"


def _numbers(value: Json, place: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _numbers(inner, f"{place}.{number}")
    elif isinstance(value, int | float):
        yield place, value


def _names(model: type[BaseModel]) -> set[str]:
    return {name for name in model.model_fields if not (model is Settings and name == "file")}


def _problem(model: type[BaseModel], error: ValidationError) -> str:
    problems = error.errors()
    # A key that is misspelt is also one that is missing: what was written is what helps.
    first = next((p for p in problems if p["type"] == "extra_forbidden"), problems[0])
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden":
        *parents, key = first["loc"]
        nested = _nested(model, [str(parent) for parent in parents])
        return unknown_key(f"[{'.'.join(map(str, parents))}]", str(key), _names(nested))
    return f"{place}: {first['msg'].lower()}, not {first['input']!r}"


def _nested(model: type[BaseModel], path: Iterable[str]) -> type[BaseModel]:
    for name in path:
        field = model.model_fields.get(name)
        model = _table_in(field.annotation if field else None) or model
    return model


def _table_in(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401
    """Find the table that a key holds, alone or in a list."""
    kinds = (annotation, *get_args(annotation))
    return next((k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel)), None)


def _overrides(environ: Mapping[str, str]) -> dict[str, list[str]]:
    """Find ``AIPM_SECTION__KEY`` and the keys it stands for; other names are not ours to judge."""
    found: dict[str, list[str]] = {}
    for name in sorted(environ):
        keys = name.removeprefix(_PREFIX).lower().split("__")
        if not name.startswith(_PREFIX) or keys[0] not in _names(Settings):
            continue
        if len(keys) > 1 or keys[0] not in _SECTIONS:
            found[name] = keys
    return found


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
