"""What making a copy of a database and putting one back have in common."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aipm_core import CallError, StoreError


@contextmanager
def draft_of(file: Path) -> Iterator[Path]:
    """Make a private, empty file beside ``file``, gone at the end with what SQLite put beside."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    with explained(f"{file} cannot be written"):
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield draft
    finally:
        for suffix in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                draft.with_name(f"{draft.name}{suffix}").unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Wait until a file, or what stands in a directory, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def damage(connection: sqlite3.Connection) -> str | None:
    """Say what is wrong with a database, after reading all of it."""
    verdict = str(connection.execute("pragma integrity_check(1)").fetchone()[0])
    if verdict != "ok":
        return verdict
    orphan = connection.execute("pragma foreign_key_check").fetchone()
    return f"a row of {orphan[0]} refers to a missing row of {orphan[2]}" if orphan else None


def read_only(database: Path) -> sqlite3.Connection:
    """Connect without the right to change anything, not even by tidying up at the end."""
    return sqlite3.connect(f"{database.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn what a disk or a database says into one sentence."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StoreError(f"{what}: {reason}") from error


def not_found(sentence: str) -> CallError:
    """Say that something is missing: exit 3."""
    return CallError(sentence, code="not_found", status=404)


def refused(sentence: str) -> CallError:
    """Say that something is in the way: exit 4."""
    return CallError(sentence, code="exists", status=409)


def unusable(sentence: str) -> CallError:
    """Say that a file is no backup: exit 2."""
    return CallError(sentence, code="invalid_backup", status=400)
