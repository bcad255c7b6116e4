"""Which errors of SQLite are the disk's or another process's, and not a mistake in a statement."""

from __future__ import annotations

import sqlite3

from aipm_core import StoreUnavailable

_PASSING = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_CORRUPT",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_NOTADB",
    "SQLITE_PROTOCOL",
    "SQLITE_READONLY",
)


def told_apart(error: Exception) -> Exception:
    """Return ``StoreUnavailable`` for a trouble of the store, everything else as it is."""
    name = getattr(error, "sqlite_errorname", None) or ""
    if isinstance(error, sqlite3.Error) and name.startswith(_PASSING):
        unavailable = StoreUnavailable(f"{error} ({name})")
        unavailable.__cause__ = error
        return unavailable
    return error
