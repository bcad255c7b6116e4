"""A program under way, behind its launcher: its output up to a limit, and its end.

``asyncio``'s own ``Process.wait`` also waits for everybody who holds the pipes; a program that has
left a child behind would never end.
"""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress
from typing import cast

import anyio
import anyio.to_thread
from aipm_processes.api import end_marked

MARK = "AIPM_PROGRAM"
_OUTPUT_LIMIT_FACTOR = 64  # times what is kept of the output; a program that writes more is ended
_DRAIN_SECONDS = 0.5  # for output that is under way when a program has ended
_KILL_TIMEOUT_SECONDS = 5.0  # for the launcher to end everything; then it is ended itself
_STDOUT, _STDERR = 1, 2


class Output:
    """The beginning of what a program writes."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._kept = bytearray()
        self.total = 0

    def take(self, data: bytes) -> None:
        """Keep what there is room for."""
        self.total += len(data)
        self._kept += data[: self._keep - len(self._kept)]

    @property
    def truncated(self) -> bool:
        """Whether there was more than is kept."""
        return self.total > len(self._kept)

    def text(self) -> str:
        """Return what was kept."""
        return self._kept.decode("utf-8", errors="replace")


class Program(asyncio.SubprocessProtocol):
    """One process and everything it has started."""

    _transport: asyncio.SubprocessTransport

    def __init__(self, keep: int, mark: str) -> None:
        self._mark = mark
        self._most = keep * _OUTPUT_LIMIT_FACTOR
        self._closed = asyncio.Event()
        self.exited = asyncio.Event()
        self.stdout = Output(keep)
        self.stderr = Output(keep)

    @property
    def exit_code(self) -> int | None:
        """How the program ended: a negative number names a signal."""
        return self._transport.get_returncode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the process."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep the beginning of the output; end a program that never stops writing."""
        output = self.stdout if fd == _STDOUT else self.stderr
        output.take(data)
        if output.total > self._most:
            self.kill()

    def process_exited(self) -> None:
        """Note the end."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nothing more will come."""
        self._closed.set()

    def kill(self) -> None:
        """Have the launcher end the program and whatever it has started."""
        self._signal(signal.SIGTERM)

    async def end(self) -> None:
        """Wait for the last words, then let go of the pipes whoever still holds them."""
        with anyio.move_on_after(_KILL_TIMEOUT_SECONDS):
            await self.exited.wait()
        if not self.exited.is_set():
            self._signal(signal.SIGKILL)
            await self.exited.wait()
        await anyio.to_thread.run_sync(end_marked, MARK, (self._mark,))
        with anyio.move_on_after(_DRAIN_SECONDS):
            await self._closed.wait()
        self._transport.close()

    def _signal(self, number: signal.Signals) -> None:
        if not self.exited.is_set():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._transport.get_pid(), number)
