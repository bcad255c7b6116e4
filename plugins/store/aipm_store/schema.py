"""Brings tables up to date, one process at a time.

Every start compares names with one query. sqlite-utils, which runs and records the steps, is
imported only when a step is missing (its import alone costs 70 ms of a 300 ms start).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from aipm_core import Migration, PluginError, StoreError
from aipm_store import migration_check

_TABLE = "_sqlite_migrations"


def update(connection: sqlite3.Connection, sets: Mapping[str, Sequence[Migration]]) -> None:
    """Apply what is missing. Call it only while holding the lock of the data directory."""
    known = check(connection, sets)
    for owner, migrations in sets.items():
        if missing := [m for m in migrations if m.name not in known.get(owner, ())]:
            migration_check.check(owner, migrations, "sqlite")
            _apply(connection, owner, missing)


def check(
    connection: sqlite3.Connection, sets: Mapping[str, Sequence[Migration]]
) -> dict[str, list[str]]:
    """Refuse tables of a newer program before any is changed; return the steps seen, by plugin."""
    known = _applied(connection)
    refuse_newer(known, sets)
    return known


def refuse_newer(
    known: Mapping[str, Sequence[str]], sets: Mapping[str, Sequence[Migration]]
) -> None:
    """Refuse tables with steps that this program does not know."""
    for owner, migrations in sets.items():
        names = {migration.name for migration in migrations}
        if unknown := [name for name in known.get(owner, ()) if name not in names]:
            raise StoreError(
                f"the database was written by a newer version of aipm: {owner} has the unknown "
                f"migration {unknown[0]!r}; upgrade the program or use another data_dir"
            )


def _applied(connection: sqlite3.Connection) -> dict[str, list[str]]:
    if connection.execute("select 1 from sqlite_master where name = ?", (_TABLE,)).fetchone():
        names: dict[str, list[str]] = {}
        for owner, name in connection.execute(f"select migration_set, name from {_TABLE}"):
            names.setdefault(owner, []).append(name)
        return names
    return {}


def _apply(connection: sqlite3.Connection, owner: str, missing: Sequence[Migration]) -> None:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations

    steps = Migrations(owner)
    for migration in missing:

        def step(db: Database, migration: Migration = migration) -> None:
            with explained(owner, migration.name):
                for statement in statements(migration.sql_for("sqlite")):
                    db.execute(statement)

        steps(name=migration.name)(step)
    steps.apply(Database(connection, execute_plugins=False))


@contextmanager
def explained(owner: str, step: str) -> Iterator[None]:
    """Name plugin and step of SQL that is wrong; a trouble of the disk is nobody's fault."""
    try:
        yield
    except (sqlite3.Error, ValueError) as error:
        kind = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        if not kind.startswith(("SQLITE_ERROR", "SQLITE_CONSTRAINT", "SQLITE_MISMATCH")):
            raise
        raise PluginError(owner, f"migration {step} failed: {error}") from error


def statements(sql: str) -> Iterator[str]:
    """Split a script into statements; a trigger's body stays whole."""
    statement = ""
    for piece in sql.split(";"):
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            if statement.strip(" \n\t;"):
                yield statement.strip()
            statement = ""
    if statement.strip(" \n\t;"):
        raise ValueError(f"incomplete SQL: {statement.strip()[:80]}")
