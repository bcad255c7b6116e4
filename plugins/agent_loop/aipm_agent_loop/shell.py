"""``shell:execute``: one program with its arguments, in the project's directory. No shell."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from subprocess import DEVNULL, PIPE  # programs are started without a shell  # nosec B404
from typing import Annotated

import anyio
from aipm_processes.api import launched, new_mark
from aipm_sessions.api import Directory
from pydantic import Field

from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.program import MARK, Program
from aipm_core import Arguments, Call, Json, PluginContext

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
        program = await self._start(self._words(args.command), await self._root(call))
        timed_out = False
        try:
            with anyio.fail_after(self._ctx.config.shell_seconds):
                await program.exited.wait()
        except TimeoutError:
            timed_out = True
        finally:
            # Whatever the program has started ends with it, also when the call is cancelled.
            program.kill()
            with anyio.CancelScope(shield=True):
                await program.end()
        return {
            "exit_code": None if timed_out else program.exit_code,
            "stdout": program.stdout.text(),
            "stderr": program.stderr.text(),
            "timed_out": timed_out,
            "truncated": program.stdout.truncated or program.stderr.truncated,
        }

    def _words(self, command: str | list[str]) -> list[str]:
        try:
            words = shlex.split(command) if isinstance(command, str) else command
        except ValueError as error:
            raise self._ctx.refuse("invalid_command", 400, reason=error) from None
        if not words or not words[0] or any("\x00" in word for word in words):
            raise self._ctx.refuse("invalid_command", 400, reason="no program")
        return words

    async def _root(self, call: Call) -> Path:
        project = await self._directory.project(self._ctx.store, call.caller.project_id)
        if project is None or project.directory is None or not project.directory.is_dir():
            raise self._ctx.refuse("working_directory_not_set", 500)
        return project.directory

    async def _start(self, words: list[str], root: Path) -> Program:
        keep, mark = self._ctx.config.shell_output_bytes, new_mark()
        try:
            _, program = await asyncio.get_running_loop().subprocess_exec(
                lambda: Program(keep, mark),
                *launched(words),
                cwd=root,
                env={**self._environment(), MARK: mark},
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        except (OSError, UnicodeEncodeError) as error:
            reason = getattr(error, "strerror", None) or "cannot be run"
            raise self._ctx.refuse("invalid_command", 400, reason=reason) from None
        return program

    def _environment(self) -> Mapping[str, str]:
        allowed = self._ctx.config.shell_environment
        return {name: os.environ[name] for name in allowed if name in os.environ}
