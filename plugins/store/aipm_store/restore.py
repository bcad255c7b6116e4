"""The way back: a copy takes the place of the database, as one step or not at all."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from aipm_core import Migration
from aipm_store import data_directory, directory_lock, schema
from aipm_store.copies import (
    damage,
    draft_of,
    explained,
    flush,
    not_found,
    read_only,
    refused,
    unusable,
)

_CORE = "aipm_core"
_MADE = re.compile(r"(?is)create\s+(trigger|view)\s+(?:if\s+not\s+exists\s+)?(.+)")


def put_back(
    data_dir: Path,
    file: Path,
    migrations: Mapping[str, Sequence[Migration]],
    *,
    replace: bool,
) -> Path | None:
    """Check a copy and put it in the place of the database; return where the old one is kept."""
    if not file.is_file():
        raise not_found(f"there is no backup {file}")
    data_directory.prepare(data_dir)
    with directory_lock.alone(data_dir):
        database = data_dir / data_directory.DATABASE
        for forgotten in data_dir.glob(
            f".{data_directory.DATABASE}.*"
        ):  # of a restore that was killed
            forgotten.unlink(missing_ok=True)
        occupied = database.exists() and database.stat().st_size > 0
        if occupied and not replace:
            raise refused(
                f"{database} exists already; --replace puts the backup in its place and keeps "
                "the old one beside it"
            )
        with draft_of(database) as draft, explained(f"{file} cannot be restored"):
            shutil.copyfile(file, draft)
            _check(file, draft, migrations)
            flush(draft)
            return _swap(database, draft, occupied=occupied)


def _check(file: Path, draft: Path, migrations: Mapping[str, Sequence[Migration]]) -> None:
    """Refuse what is not a whole backup that this program understands."""
    tail = file.with_name(f"{file.name}-wal")
    if tail.is_file() and tail.stat().st_size:
        raise unusable(
            f"{file} is the file of a database in use, not a backup ({tail.name} holds its newest "
            "changes); make one with `aipm backup`"
        )
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        _examine(file, connection, migrations)
        connection.execute("pragma journal_mode = delete")


def _examine(
    file: Path, connection: sqlite3.Connection, migrations: Mapping[str, Sequence[Migration]]
) -> None:
    """Read all of it, and refuse what this program did not write."""
    try:
        connection.execute("pragma trusted_schema = off")
        problem = damage(connection)
        known = {} if problem else schema.check(connection, migrations)
    except sqlite3.DatabaseError as error:
        problem, known = str(error), {}
    if problem:
        raise unusable(f"{file} is not a whole backup: {problem}; nothing was changed")
    if _CORE not in known:
        raise unusable(f"{file} is not a backup of aipm; nothing was changed")
    if kind := _planted(connection, migrations):
        raise unusable(
            f"{file} holds a {kind} that no plugin here makes and that would act by itself; "
            "nothing was changed"
        )


def _planted(
    connection: sqlite3.Connection, migrations: Mapping[str, Sequence[Migration]]
) -> str | None:
    """Say what kind of thing a copy holds that acts by itself and is not a plugin's, if any.

    A trigger can do whatever the program can, once it runs: make a token, say.
    """
    own = {
        f"CREATE {made[1].upper()} {made[2]}"  # as SQLite keeps it
        for steps in migrations.values()
        for step in steps
        for statement in schema.statements(step.sql_for("sqlite"))
        if (made := _MADE.fullmatch(statement.rstrip("; \n\t")))
    }
    kept = "select type, sql from sqlite_master where type in ('trigger', 'view')"
    return next((str(row[0]) for row in connection.execute(kept) if row[1] not in own), None)


def _swap(database: Path, draft: Path, *, occupied: bool) -> Path | None:
    """Put the draft in place. Killed at any moment, one of the two whole databases is there."""
    kept = _set_aside(database) if occupied else None
    # Pages of the old database must never be read into the new one.
    for suffix in ("-wal", "-shm"):
        database.with_name(f"{database.name}{suffix}").unlink(missing_ok=True)
    draft.replace(database)
    flush(database.parent)
    return kept


def _set_aside(database: Path) -> Path:
    """Give the old database a second name; it keeps its first one until the draft takes that."""
    if _is_whole(database):  # a damaged one is kept as it is, with its log
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("pragma wal_checkpoint(truncate)")
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    kept = database.with_name(f"{database.name}.replaced-{moment}")
    for suffix in ("", "-wal"):
        old = database.with_name(f"{database.name}{suffix}")
        if old.exists():
            _same_file(old, kept.with_name(f"{kept.name}{suffix}"))
    return kept


def _is_whole(database: Path) -> bool:
    try:
        with closing(read_only(database)) as connection:
            return damage(connection) is None
    except sqlite3.Error:
        return False


def _same_file(old: Path, new: Path) -> None:
    try:
        os.link(old, new)
    except OSError:  # a file system without links
        shutil.copy2(old, new)
        flush(new)
