"""``shell:execute``: one program with its arguments, in the project's directory. No shell."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import anyio
from aipm_sessions.api import Directory
from pydantic import Field

from aipm_agent_loop.config import AgentLoopConfig
from aipm_core import Arguments, Call, Json, PluginContext

_FLOOD = 64  # times what is kept of the output; a program that writes more is ended
_LAST_WORDS = 0.5  # seconds for output that is under way when a program has ended
_Word = Annotated[str, Field(max_length=32_768)]


class Execute(Arguments):
    """Arguments of ``shell:execute``: a command line, or the program and its arguments."""

    command: _Word | Annotated[list[_Word], Field(min_length=1, max_length=1000)]


class Shell:
    """Runs programs that a person has agreed to."""

    def __init__(self, ctx: PluginContext[AgentLoopConfig], directory: Directory) -> None:
        self._ctx = ctx
        self._directory = directory

    async def execute(self, call: Call, args: Execute) -> Json:
        """Run a program to its end, or to its limits."""
        words = self._words(args.command)
        process = await self._start(words, await self._root(call))
        keep = self._ctx.config.shell_output_bytes
        out, err = _Output(keep), _Output(keep)
        readers = [
            asyncio.create_task(out.read(process, process.stdout)),
            asyncio.create_task(err.read(process, process.stderr)),
        ]
        timed_out = False
        try:
            with anyio.fail_after(self._ctx.config.shell_seconds):
                await process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            # Whatever the program has started ends with it, also when the call is cancelled.
            _kill(process)
            with anyio.CancelScope(shield=True):
                await asyncio.wait(readers, timeout=_LAST_WORDS)
                for reader in readers:
                    reader.cancel()
                await process.wait()
        return {
            "exit_code": None if timed_out else process.returncode,
            "stdout": out.text(),
            "stderr": err.text(),
            "timed_out": timed_out,
            "truncated": out.truncated or err.truncated,
        }

    def _words(self, command: str | list[str]) -> list[str]:
        try:
            words = shlex.split(command) if isinstance(command, str) else command
        except ValueError as error:
            raise self._ctx.refuse("invalid_command", 400, reason=error) from None
        if not words or any("\x00" in word for word in words):
            raise self._ctx.refuse("invalid_command", 400, reason="no program")
        return words

    async def _root(self, call: Call) -> Path:
        project = await self._directory.project(self._ctx.store, call.caller.project_id)
        if project is None or project.directory is None or not project.directory.is_dir():
            raise self._ctx.refuse("working_directory_not_set", 500)
        return project.directory

    async def _start(self, words: list[str], root: Path) -> Process:
        try:
            return await asyncio.create_subprocess_exec(
                *words,
                cwd=root,
                env=self._environment(),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        except (OSError, UnicodeEncodeError) as error:
            reason = getattr(error, "strerror", None) or "cannot be run"
            raise self._ctx.refuse("invalid_command", 400, reason=reason) from None

    def _environment(self) -> Mapping[str, str]:
        allowed = self._ctx.config.shell_environment
        return {name: os.environ[name] for name in allowed if name in os.environ}


class _Output:
    """The beginning of what a program writes."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._kept = bytearray()
        self._total = 0

    async def read(self, process: Process, stream: asyncio.StreamReader | None) -> None:
        while stream is not None and (piece := await stream.read(65_536)):
            self._total += len(piece)
            self._kept += piece[: self._keep - len(self._kept)]
            if self._total > self._keep * _FLOOD:
                _kill(process)
                return

    @property
    def truncated(self) -> bool:
        return self._total > len(self._kept)

    def text(self) -> str:
        return self._kept.decode("utf-8", errors="replace")


def _kill(process: Process) -> None:
    """End a program and everything in its process group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
