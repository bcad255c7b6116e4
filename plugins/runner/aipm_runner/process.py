"""A program under way behind its launcher: its lines as they come, and its end."""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE  # programs are started without a shell  # nosec B404
from typing import cast

import anyio
import anyio.to_thread
from aipm_processes.api import end_marked, launched

from aipm_runner.api import Launch

MARK = "AIPM_RUN_ID"
_LAST_WORDS_SECONDS = 0.5  # for output that is under way when a program has ended
_LAUNCHER_SECONDS = 3.0  # for the launcher to end everything after the grace
_STREAMS = {1: "stdout", 2: "stderr"}
_CUT = " […]"


class Lines:
    """Cuts what comes in into lines; of a line that is too long the beginning counts."""

    def __init__(self, longest: int, take: Callable[[str], None]) -> None:
        self._longest = longest
        self._take = take
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._begun = ""
        self._cut = False

    def feed(self, data: bytes, *, final: bool = False) -> None:
        """Take in some output."""
        *whole, rest = self._decoder.decode(data, final).split("\n")
        for part in whole:
            self._grow(part)
            self._finish()
        self._grow(rest)
        if final and (self._begun or self._cut):
            self._finish()

    def _grow(self, part: str) -> None:
        room = self._longest - len(self._begun)
        self._begun += part[:room]
        self._cut = self._cut or len(part) > room

    def _finish(self) -> None:
        self._take(self._begun.rstrip("\r") + (_CUT if self._cut else ""))
        self._begun, self._cut = "", False


class RunProcess(asyncio.SubprocessProtocol):
    """One process and everything it has started.

    ``asyncio``'s own ``Process.wait`` also waits for everybody who holds the pipes; a program that
    has left a child behind would never end.
    """

    _transport: asyncio.SubprocessTransport

    def __init__(self, run_id: str, longest: int, take: Callable[[str, str], None]) -> None:
        self._run_id = run_id
        self._closed = asyncio.Event()
        self.exited = asyncio.Event()
        self._lines = {
            fd: Lines(longest, lambda text, name=name: take(name, text))  # type: ignore[misc]
            for fd, name in _STREAMS.items()
        }

    @property
    def exit_code(self) -> int | None:
        """How the program ended: a negative number names a signal."""
        return self._transport.get_returncode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the process."""
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Pass on whole lines."""
        self._lines[fd].feed(data)

    def process_exited(self) -> None:
        """Note the end."""
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nothing more will come."""
        self._closed.set()

    def say(self, text: bytes) -> None:
        """Write to the program, and close its standard input."""
        self.write(text)
        self.close_input()

    def write(self, data: bytes) -> None:
        """Write to the program."""
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        with suppress(OSError, RuntimeError):  # it has ended, or does not read
            pipe.write(data)

    def close_input(self) -> None:
        """Let the program know that nothing more will come."""
        pipe = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        with suppress(OSError, RuntimeError):
            pipe.write_eof()

    async def stop(self, grace_seconds: float) -> None:
        """End the program: it is told, then killed; then nothing of it is left."""
        self._signal(signal.SIGTERM)
        with anyio.move_on_after(grace_seconds + _LAUNCHER_SECONDS):
            await self.exited.wait()
        if not self.exited.is_set():
            self._signal(signal.SIGKILL)
            await self.exited.wait()

    async def clean_up(self) -> None:
        """End what is left, wait for the last words, and let go of the pipes."""
        await anyio.to_thread.run_sync(end_marked, MARK, (self._run_id,))
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            await self._closed.wait()
        self._transport.close()
        for lines in self._lines.values():
            lines.feed(b"", final=True)

    def _signal(self, number: signal.Signals) -> None:
        if not self.exited.is_set():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._transport.get_pid(), number)


async def start(
    launch: Launch,
    directory: Path,
    grace_seconds: float,
    make: Callable[[], RunProcess],
    *,
    spoken_with: bool = False,
) -> RunProcess:
    """Start a program behind its launcher; raises ``OSError`` or ``ValueError``.

    Who is spoken with keeps its standard input open.
    """
    _, process = await asyncio.get_running_loop().subprocess_exec(
        make,
        *launched(launch.words, grace_seconds),
        cwd=directory,
        env=dict(launch.environment),
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    if not spoken_with:
        process.say(launch.stdin)
    return process
