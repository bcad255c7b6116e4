"""The store: one narrow port (:mod:`port`), two engines behind it, and their conformance suite.

A read waits for nothing, a write is one async function that runs as one transaction, and a wait is
woken by writes. Nothing else of a database is visible to plugins.
"""

from __future__ import annotations

from pathlib import Path

from aipm_core.errors import ConfigError
from aipm_core.store.port import Engine, Migration, Reader, Row, Store, Tx, Unit

__all__ = ["Engine", "Migration", "Reader", "Row", "Store", "Tx", "Unit", "make_store"]


def make_store(url: str, data_dir: Path) -> Engine:
    """Make the engine the settings name. Nothing is created before it is opened."""
    if url == "sqlite":
        from aipm_core.store.sqlite import SqliteStore

        return SqliteStore(data_dir)
    scheme = url.partition(":")[0]  # no more of it in a message: there may be a password in it
    if scheme in {"postgresql", "postgres"}:
        return _postgres(url, data_dir)
    raise ConfigError(
        f"[store] url {scheme!r} names no engine: use 'sqlite' or 'postgresql://HOST/DATABASE'"
    )


def _postgres(url: str, data_dir: Path) -> Engine:
    try:
        from aipm_core.store.postgres.engine import PostgresStore
    except ModuleNotFoundError as error:
        raise ConfigError(
            "[store] url names PostgreSQL, whose driver is not installed: "
            "pip install 'aipm-runtime[postgres]'"
        ) from error
    return PostgresStore(url, data_dir)
