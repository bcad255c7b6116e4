"""Who uses a data directory: every open store shares one lock, a restore needs it alone.

The kernel drops the lock with the process, so whatever is killed leaves nothing to clean up.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aipm_core import CallError, StoreError

_LOCK = "use.lock"


@contextmanager
def shared(data_dir: Path) -> Iterator[None]:
    """Use the directory beside others; refused while its database is being replaced."""
    with (data_dir / _LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreError(
                f"data directory {data_dir} is being restored; start again when that is done"
            ) from None
        yield


@contextmanager
def alone(data_dir: Path) -> Iterator[None]:
    """Use the directory with nobody else in it; refused while anybody is."""
    with (data_dir / _LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CallError(
                f"data directory {data_dir} is in use: stop `aipm up` and every other aipm first",
                code="in_use",
                status=409,
            ) from None
        yield
