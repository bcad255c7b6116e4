"""Turns among all processes that share a data directory.

A lock file holds the mark of the last one who had it. Who finds its own mark there knows that
nobody else has been at it since; who finds another one must look before it goes on.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from aipm_core import Turn


class Turns:
    """One lock file a name, opened when its first turn comes."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._mark = secrets.token_hex(8).encode()
        self._files: dict[str, int] = {}
        self._here: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def taken(self, name: str) -> AsyncGenerator[Turn]:
        """Hold the lock; say whether the last turn was ours too."""
        async with self._here.setdefault(name, asyncio.Lock()):
            file = self._file(name)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
            try:
                ours = os.pread(file, 64, 0) == self._mark
                if not ours:
                    os.pwrite(file, self._mark, 0)
                yield Turn(ours, lasts=lambda: True)  # the lock goes with the process only
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the lock files."""
        for file in self._files.values():
            os.close(file)
        self._files.clear()

    def _file(self, name: str) -> int:
        if name not in self._files:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._files[name] = os.open(self._directory / f"{name}.lock", flags, 0o600)
        return self._files[name]
