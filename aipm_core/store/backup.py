"""Copies of an SQLite database: written while others work, and put back as one step.

A copy is one self-contained file. It is made beside its final name, read back, flushed, and only
then named, so that a file with that name is always a whole backup.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import anyio.from_thread
import anyio.to_thread

from aipm_core.errors import CallError, StoreError
from aipm_core.store import occupancy, place, schema
from aipm_core.store.port import Migration, Progress

_PAGES_AT_ONCE = 1024
_CORE = "aipm_core"


async def write_copy(data_dir: Path, file: Path, progress: Progress) -> None:
    """Copy the database as of now to a new file; leave nothing behind when cancelled."""
    given_up = threading.Event()

    def report(done: int, total: int) -> None:
        progress(done, total)
        anyio.from_thread.check_cancelled()
        if given_up.is_set():  # Ctrl-C cancels past anyio
            raise InterruptedError

    try:
        await anyio.to_thread.run_sync(_copy, data_dir, file, report)
    finally:
        given_up.set()


def put_back(
    data_dir: Path,
    file: Path,
    migrations: Mapping[str, Sequence[Migration]],
    *,
    replace: bool,
) -> Path | None:
    """Check a copy and put it in the place of the database; return where the old one is kept."""
    if not file.is_file():
        raise _not_found(f"there is no backup {file}")
    place.prepare(data_dir)
    with occupancy.alone(data_dir):
        database = data_dir / place.DATABASE
        for forgotten in data_dir.glob(f".{place.DATABASE}.*"):  # of a restore that was killed
            forgotten.unlink(missing_ok=True)
        occupied = database.exists() and database.stat().st_size > 0
        if occupied and not replace:
            raise _refused(
                f"{database} exists already; --replace puts the backup in its place and keeps "
                "the old one beside it"
            )
        with _draft(database) as draft, _explained(f"{file} cannot be restored"):
            shutil.copyfile(file, draft)
            _check(file, draft, migrations)
            _flush(draft)
            return _swap(database, draft, occupied=occupied)


def _copy(data_dir: Path, file: Path, progress: Progress) -> None:
    database = data_dir / place.DATABASE
    if not database.is_file():
        raise _not_found(f"there is nothing to back up: {database} does not exist yet")
    if os.path.lexists(file):
        raise _refused(f"{file} exists already; nothing was written")
    with (
        _explained(f"{file} cannot be written"),
        occupancy.shared(data_dir),
        _draft(file) as draft,
    ):
        with (
            closing(_read_only(database)) as source,
            closing(sqlite3.connect(draft, isolation_level=None)) as target,
        ):
            # The open read transaction pins one moment: without it every write by somebody else
            # would start the copy over, and a busy server would never be copied.
            source.execute("begin")
            source.execute("select 1 from sqlite_master").fetchone()
            source.backup(
                target,
                pages=_PAGES_AT_ONCE,
                progress=lambda _, left, total: progress(total - left, total),
                sleep=0,
            )
            target.execute("pragma journal_mode = delete")
            if problem := _damage(target):
                raise StoreError(f"the copy of {database} is damaged: {problem}; nothing was kept")
        _flush(draft)
        _name(draft, file)


def _name(draft: Path, file: Path) -> None:
    """Give a finished copy its name, unless somebody took that meanwhile."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise _refused(f"{file} exists already; nothing was written") from None
    draft.replace(file)
    _flush(file.parent)


def _check(file: Path, draft: Path, migrations: Mapping[str, Sequence[Migration]]) -> None:
    """Refuse what is not a whole backup that this program understands."""
    tail = file.with_name(f"{file.name}-wal")
    if tail.is_file() and tail.stat().st_size:
        raise _unusable(
            f"{file} is the file of a database in use, not a backup ({tail.name} holds its newest "
            "changes); make one with `aipm backup`"
        )
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        try:
            connection.execute("pragma trusted_schema = off")
            problem = _damage(connection)
            known = {} if problem else schema.check(connection, migrations)
        except sqlite3.DatabaseError as error:
            problem, known = str(error), {}
        if problem:
            raise _unusable(f"{file} is not a whole backup: {problem}; nothing was changed")
        if _CORE not in known:
            raise _unusable(f"{file} is not a backup of aipm; nothing was changed")
        connection.execute("pragma journal_mode = delete")


def _damage(connection: sqlite3.Connection) -> str | None:
    verdict = str(connection.execute("pragma integrity_check(1)").fetchone()[0])
    if verdict != "ok":
        return verdict
    orphan = connection.execute("pragma foreign_key_check").fetchone()
    return f"a row of {orphan[0]} refers to a missing row of {orphan[2]}" if orphan else None


def _swap(database: Path, draft: Path, *, occupied: bool) -> Path | None:
    """Put the draft in place. Killed at any moment, one of the two whole databases is there."""
    kept = _set_aside(database) if occupied else None
    # Pages of the old database must never be read into the new one.
    for suffix in ("-wal", "-shm"):
        database.with_name(f"{database.name}{suffix}").unlink(missing_ok=True)
    draft.replace(database)
    _flush(database.parent)
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
        with closing(_read_only(database)) as connection:
            return _damage(connection) is None
    except sqlite3.Error:
        return False


def _read_only(database: Path) -> sqlite3.Connection:
    """Connect without the right to change anything, not even by tidying up at the end."""
    return sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _same_file(old: Path, new: Path) -> None:
    try:
        os.link(old, new)
    except OSError:  # a file system without links
        shutil.copy2(old, new)
        _flush(new)


@contextmanager
def _draft(file: Path) -> Iterator[Path]:
    """Make a private, empty file beside ``file``, gone at the end with what SQLite put beside."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with _explained(f"{file} cannot be written"):
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield draft
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                draft.with_name(f"{draft.name}{suffix}").unlink(missing_ok=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"{what}: {reason}") from error


def _not_found(sentence: str) -> CallError:
    return CallError(sentence, code="not_found", status=404)


def _refused(sentence: str) -> CallError:
    return CallError(sentence, code="exists", status=409)


def _unusable(sentence: str) -> CallError:
    return CallError(sentence, code="invalid_backup", status=400)
