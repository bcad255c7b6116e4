"""The store: one narrow port (:mod:`port`), the SQLite engine behind it, and its conformance suite.

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
    raise ConfigError(f"[store] url {url!r} names no engine this version has: use 'sqlite'")
