"""Which engine keeps the data: found by the scheme of ``[store] url``."""

from __future__ import annotations

from importlib.metadata import EntryPoints, distribution, entry_points
from pathlib import Path
from typing import Protocol

from aipm_core import ConfigError
from aipm_store.keeping import KeptEngine
from aipm_store.settings import StoreSettings

GROUP = "aipm.stores"
CONNECTIONS: int = StoreSettings.model_fields["connections"].default


class StoredSettings(Protocol):
    """What the store needs to know of the settings."""

    @property
    def data_dir(self) -> Path:
        """The directory for what is not in a database elsewhere."""

    def section(self, model: type[StoreSettings]) -> StoreSettings:
        """Return the table ``[store]``."""


def engine_for(settings: StoredSettings) -> KeptEngine:
    """Make the engine the settings name. Nothing is created before it is opened."""
    wanted = settings.section(StoreSettings)
    return make_store(wanted.url, settings.data_dir, wanted.connections)


def make_store(url: str, data_dir: Path, connections: int = CONNECTIONS) -> KeptEngine:
    """Make the engine for a URL. An entry point of ``aipm.stores`` is named as the scheme is."""
    scheme = url.partition(":")[0]  # no more of it in a message: there may be a password in it
    points = {point.name: point for point in _points(scheme)}
    if scheme not in points:
        names = ", ".join(sorted(points))
        raise ConfigError(
            f"[store] url {scheme!r} names no engine: use 'sqlite' or 'postgresql://HOST/DATABASE' "
            f"(there are: {names})"
        )
    engine: KeptEngine = points[scheme].load()(url, data_dir, connections)
    return engine


def _points(scheme: str) -> EntryPoints:
    """Return aipm's own, which nobody else's takes the place of; everybody's for another scheme."""
    own = distribution("aipm-runtime").entry_points.select(group=GROUP)
    return own if scheme in own.names else entry_points(group=GROUP)


def sqlite(url: str, data_dir: Path, connections: int) -> KeptEngine:
    """Make the engine for one machine; ``url`` is just the word."""
    if url != "sqlite":
        raise ConfigError(f"[store] url {url!r}: 'sqlite' takes no more; data_dir says where")
    from aipm_store.sqlite import SqliteStore

    return SqliteStore(data_dir)


def postgresql(url: str, data_dir: Path, connections: int) -> KeptEngine:
    """Make the engine for several servers."""
    try:
        from aipm_store.postgres.engine import PostgresStore
    except ModuleNotFoundError as error:
        raise ConfigError(
            "[store] url names PostgreSQL, whose driver is not installed: "
            "pip install 'aipm-runtime[postgres]'"
        ) from error
    return PostgresStore(url, data_dir, connections)
