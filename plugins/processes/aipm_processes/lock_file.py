"""A file that is locked as long as a process lives: others see at once that it died."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class LockFile:
    """The lock of this process."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def hold(self) -> None:
        """Be recognisable as alive from now on."""
        if self._descriptor is None:
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
            self._descriptor = os.open(self._path, flags, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def drop(self) -> None:
        """Leave nothing behind."""
        if self._descriptor is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None


def is_abandoned(path: Path) -> bool:
    """Return whether a lock file is there and nobody holds it: its holder has died."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
