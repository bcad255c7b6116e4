"""The data directory: private, local, writable, or one sentence that says what is wrong."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aipm_core import StoreError

DATABASE = "aipm.db"
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "ceph"})


def prepare(directory: Path, *, local: bool = True) -> None:
    """Make the directory, private to this user; refuse one that cannot keep a database safe."""
    with _explained(directory):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_owner(directory)
        directory.chmod(0o700)
        _check_writable(directory)
    if local:
        _check_local(directory)


def prepare_database(directory: Path) -> Path:
    """Make the database file, private to this user, if there is none; return its path."""
    database = directory / DATABASE
    with _explained(directory):
        os.close(os.open(database, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        database.chmod(0o600)
    return database


@contextmanager
def _explained(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(
            f"data directory {directory} cannot be used: {reason}; "
            "make it writable for this user or set another data_dir"
        ) from error


def _check_owner(directory: Path) -> None:
    found = directory.stat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise StoreError(
            f"data directory {directory} belongs to another user; set another data_dir"
        )


def _check_writable(directory: Path) -> None:
    probe = directory / f".probe-{os.getpid()}"
    probe.write_bytes(b"aipm")
    probe.unlink()


def _check_local(directory: Path) -> None:
    kind = filesystem_of(directory)
    if kind in _NETWORK:
        raise StoreError(
            f"data directory {directory} is on a network file system ({kind}), where SQLite can "
            "lose writes; set data_dir to a local disk"
        )


def filesystem_of(directory: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Name the type of the file system that holds ``directory``; ``None`` where none is told."""
    try:
        lines = mounts.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    found: tuple[int, str | None] = (-1, None)
    here = directory.resolve()
    for line in lines:
        _, mount, kind, *_ = line.split(" ")
        point = Path(mount.encode().decode("unicode_escape"))
        if here.is_relative_to(point) and len(point.parts) >= found[0]:
            found = (len(point.parts), kind)
    return found[1]
