"""Whose turn it is to write chat files, among all processes that share a data directory.

The lock file holds the mark of the last one who had the lock. Who finds its own mark there knows
that nobody else has written since; who finds another one must look before it writes.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path


class Turns:
    """The lock on the chat files of one data directory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mark = secrets.token_hex(8).encode()
        self._file = -1

    def open(self) -> None:
        """Open the lock file; nothing is locked yet."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file = os.open(self._path, flags, 0o600)

    def close(self) -> None:
        """Let go of the lock file."""
        os.close(self._file)

    @asynccontextmanager
    async def taken(self) -> AsyncGenerator[bool]:
        """Hold the lock; say whether the last turn was ours too."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.to_thread(fcntl.flock, self._file, fcntl.LOCK_EX)
        try:
            ours = os.pread(self._file, 64, 0) == self._mark
            if not ours:
                os.pwrite(self._file, self._mark, 0)
            yield ours
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)
