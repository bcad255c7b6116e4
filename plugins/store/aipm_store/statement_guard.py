"""What a write unit may not do: end its transaction, attach a database, change settings.

Many units of many callers share one transaction, so one that ended it would take the others along.
SQLite asks before it compiles a statement and keeps what it compiled; so the writer's own
statements carry a mark that nobody else knows, or a unit could use them from there.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from typing import NoReturn

REFUSAL = "a write unit may not end its transaction, attach a database or change settings"
OVER = "the transaction is over: it ends with its unit"
_KEPT_FROM_UNITS = frozenset(
    {
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_SAVEPOINT,
        sqlite3.SQLITE_ATTACH,
        sqlite3.SQLITE_DETACH,
        sqlite3.SQLITE_PRAGMA,
    }
)
_HARMLESS = frozenset({"data_version"})  # the search index of SQLite itself asks for it


class StatementGuard:
    """Decides, while a unit runs, which statements are compiled on a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.mark = f" /* {secrets.token_hex(8)} */"
        self.in_unit = False
        connection.set_authorizer(self._decide)

    def _decide(self, action: int, first: str | None, *_: str | None) -> int:
        if not self.in_unit or action not in _KEPT_FROM_UNITS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first in _HARMLESS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY


def explained(error: Exception) -> Exception:
    """Return a refusal of the guard as a sentence, everything else as it is."""
    if getattr(error, "sqlite_errorname", "") != "SQLITE_AUTH":
        return error
    refused = RuntimeError(REFUSAL)
    refused.__cause__ = error
    return refused


class Over:
    """Stands in the place of the connection of a transaction that is over."""

    def _refuse(self, *_: object) -> NoReturn:
        raise RuntimeError(OVER)

    execute: Callable[..., NoReturn] = _refuse
    fetch: Callable[..., NoReturn] = _refuse
    fetchrow: Callable[..., NoReturn] = _refuse
