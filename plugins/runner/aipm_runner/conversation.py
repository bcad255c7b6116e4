"""Programs that are spoken with: what they need before they start, and what is kept of them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio.to_thread

from aipm_core import Json, PluginContext, redact
from aipm_runner.api import Answer, Client, Driver, Launch, RunnerAdapter, RunStart, TurnEnd
from aipm_runner.budgets import DAY_SECONDS
from aipm_runner.config import ProgramSettings, RunnerConfig
from aipm_runner.drivers.dialogue import Dialogue
from aipm_runner.homes import Homes
from aipm_runner.process import RunProcess
from aipm_runner.resuming import kept_homes
from aipm_runner.run_records import RunRecords
from aipm_runner.runs import Run, Runs
from aipm_runner.workplaces import with_real_path

LONGEST_MESSAGE_BYTES = 16 * 1024 * 1024


class Conversations:
    """Prepares homes, and speaks with programs whose adapters have a driver."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runs: Runs) -> None:
        self._ctx = ctx
        self._runs = runs
        self._homes = Homes(ctx.data_dir)
        self._here: set[str] = set()

    async def prepare(self, run: Run, adapter: RunnerAdapter, settings: ProgramSettings) -> Path:
        """Return a home for a run, with the login in it where the settings allow that."""
        if adapter.drive is None:
            return Path()
        left = self._homes.names()  # before the look at who lives: a run is there before its home
        left -= {one.home or one.id for one in await self._runs.alive()}
        left -= self._here | await self._kept(left)
        name = run.home or run.id
        self._here.add(name)
        files = (*adapter.login_files, *settings.login_files) if settings.login else ()

        def make() -> Path:
            for ended in left:
                self._homes.remove(ended)
            home = self._homes.make(name)
            self._homes.log_in(home, Path.home(), files)
            return home

        return await anyio.to_thread.run_sync(make)

    async def _kept(self, names: set[str]) -> set[str]:
        """Return the homes whose conversations may go on, unless they are too old for that."""
        kept = await kept_homes(self._runs.reader)
        # A machine that is not the server's knows nothing of the runs of before but their homes.
        kept |= {name for name in names if await self._runs.find(name) is None}
        most, now = self._ctx.config.conversation_days * DAY_SECONDS, time.time()
        return {name for name in kept if self._homes.age_seconds(name, now) < most}

    def resumable(self, run: Run, adapter: RunnerAdapter) -> str | None:
        """Return the name of the conversation that a run goes on with, if it is kept here."""
        if not adapter.abilities.resume or run.program_session is None:
            return None
        return run.program_session if self._homes.has(run.home or run.id) else None

    def variables(self, adapter: RunnerAdapter) -> dict[str, str]:
        """Return what an adapter's kind of program takes from the environment."""
        return {name: os.environ[name] for name in adapter.variables if name in os.environ}

    def fill(self, home: Path, launch: Launch) -> None:
        """Write the files of a run; raises ``ValueError`` or ``OSError``."""
        self._homes.fill(home, launch.files)

    def begin(
        self,
        run: Run,
        adapter: RunnerAdapter,
        start: RunStart,
        records: RunRecords,
        log: Callable[[str, str], None],
    ) -> Dialogue | None:
        """Return the conversation with a program, if it is one that is spoken with."""
        drive = adapter.drive
        if drive is None:
            return None

        def driver(client: Client) -> Driver:
            return drive(start, client)

        async def guard(tool: str, arguments: Mapping[str, Json]) -> Answer:
            seen = with_real_path(arguments, start.directory)
            return await records.judge(run.id, tool, seen)

        return Dialogue(
            driver,
            guard,
            log,
            longest=self._ctx.config.line_bytes,
            start_seconds=self._ctx.config.start_seconds,
            repeats=not adapter.abilities.reason,
        )

    async def leave(self, run: Run, *, keep: bool) -> None:
        """Remove the home of a run that has ended, unless its conversation may go on."""
        name = run.home or run.id
        self._here.discard(name)
        if not keep:
            await anyio.to_thread.run_sync(self._homes.remove, name)


def said_text(ctx: PluginContext[RunnerConfig], program: str, end: TurnEnd) -> str:
    """Say in one sentence why a program could not go on, with its own words behind."""
    key = f"said.{end.reason}"
    if ctx.texts.find(key) is None:
        key = "said.process_failed"
    told = ctx.texts(key, program=program)
    return f"{told} ({redact(end.detail)})" if end.detail else told


class Speaking:
    """A conversation under way with a process."""

    def __init__(self, dialogue: Dialogue, process: RunProcess, prompt: str) -> None:
        self.dialogue = dialogue
        self._process = process
        dialogue.attach(process.write)
        self._task = asyncio.create_task(self._speak(prompt))

    async def _speak(self, prompt: str) -> None:
        await self.dialogue.hold(prompt)
        self._process.close_input()

    async def cancel(self) -> None:
        """Tell the program to stop, then that nothing more will come."""
        await self.dialogue.cancel()
        self._process.close_input()

    def close(self) -> None:
        """Stop speaking."""
        self._task.cancel()
