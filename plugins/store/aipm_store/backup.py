"""Copies of an SQLite database, written while others work on it.

A copy is one self-contained file. It is made beside its final name, read back, flushed, and only
then named, so that a file with that name is always a whole backup.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import anyio.from_thread
import anyio.to_thread

from aipm_core import StoreError
from aipm_store import data_directory, directory_lock
from aipm_store.copies import damage, draft_of, explained, flush, not_found, read_only, refused
from aipm_store.keeping import CopyProgress

_PAGES_AT_ONCE = 1024


async def write_copy(data_dir: Path, file: Path, progress: CopyProgress) -> None:
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


def _copy(data_dir: Path, file: Path, progress: CopyProgress) -> None:
    database = data_dir / data_directory.DATABASE
    if not database.is_file():
        raise not_found(f"there is nothing to back up: {database} does not exist yet")
    if os.path.lexists(file):
        raise refused(f"{file} exists already; nothing was written")
    with (
        explained(f"{file} cannot be written"),
        directory_lock.shared(data_dir),
        draft_of(file) as draft,
    ):
        with (
            closing(read_only(database)) as source,
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
            if problem := damage(target):
                raise StoreError(f"the copy of {database} is damaged: {problem}; nothing was kept")
        flush(draft)
        _name(draft, file)


def _name(draft: Path, file: Path) -> None:
    """Give a finished copy its name, unless somebody took that meanwhile."""
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise refused(f"{file} exists already; nothing was written") from None
    draft.replace(file)
    flush(file.parent)
