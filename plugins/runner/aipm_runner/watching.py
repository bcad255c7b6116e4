"""Watches a program until it ends, is to be stopped, or hangs."""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread
from aipm_processes.api import marked

from aipm_core import PluginContext
from aipm_runner.api import Evidence
from aipm_runner.config import RunnerConfig
from aipm_runner.conversation import said_text
from aipm_runner.leases import BEAT_SECONDS
from aipm_runner.process import MARK
from aipm_runner.reading import Reading
from aipm_runner.run_records import RunRecords, RunSight
from aipm_runner.runs import Outcome, Run
from aipm_runner.starting import Started

_KEPT_ALIVE_SECONDS = 300.0  # a session that does not call is kept while its program lives
_IDLE_SHARE = 0.01  # of the processor: a program that hangs still blinks


class Watching:
    """What is known of one program under way."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        records: RunRecords,
        run: Run,
        started: Started,
        reading: Reading,
    ) -> None:
        self._ctx = ctx
        self._config = ctx.config
        self._records = records
        self._run = run
        self._process = started.process
        self._speaking = started.speaking
        self._reading = reading
        self._over_since: float | None = None
        self._lines = 0
        self._calls = 0.0
        self._kept = False
        self._moved = self._kept_at = ctx.steady()
        self._processor: float | None = None

    async def to_the_end(self) -> Outcome:
        """Return how the program ended, or why it was stopped."""
        while not self._process.exited.is_set():
            if (verdict := await self._verdict()) is not None:
                await self._records.enter(self._run.id, "ending", verdict.evidence)
                if self._speaking is not None:
                    await self._speaking.cancel()
                await self._process.stop(self._config.stop_seconds)
                return verdict
            await self._wait()
        return await self._killed_by_person() or self._said() or self._exit()

    def _said(self) -> Outcome | None:
        """Return how the program itself said that it ended; that counts more than its exit code."""
        end = self._speaking.dialogue.end if self._speaking else None
        if end is None:
            return None
        told = None if end.reason == "ok" else said_text(self._ctx, self._run.program, end)
        return Outcome(
            reason=end.reason, evidence="stream", exit_code=self._process.exit_code, detail=told
        )

    async def _wait(self) -> None:
        """Wait for the end of the process, for a change of the run, or for the next look."""
        async with anyio.create_task_group() as waits:

            async def exited() -> None:
                await self._process.exited.wait()
                waits.cancel_scope.cancel()

            async def said() -> None:
                if self._speaking is not None and self._speaking.dialogue.end is None:
                    await self._speaking.dialogue.ended.wait()
                    waits.cancel_scope.cancel()

            waits.start_soon(exited)
            waits.start_soon(said)
            await self._records.wait(self._run.id, BEAT_SECONDS)
            if self._ctx.store.ending:
                await anyio.sleep(BEAT_SECONDS)
            waits.cancel_scope.cancel()

    async def _verdict(self) -> Outcome | None:
        """Return why the program is to be stopped, if it is."""
        seen = await self._records.see(self._run.id)
        if seen.ended:
            text = self._ctx.texts("ends.runner_lost")  # somebody took it for lost
            return Outcome(reason="runner_lost", evidence="lease", detail=text)
        if seen.stop_by is not None:
            return self._told_to_stop(seen)
        if self._said() is not None and self._lingers_after_its_end():
            return self._said()
        if self._lingers(seen):
            text = self._ctx.texts("ends.hung_after_result")
            return Outcome(reason="hung_after_result", evidence="call", detail=text)
        await self._note_signs(seen)
        if await self._hangs(seen):
            text = self._ctx.texts("ends.no_progress", seconds=round(self._config.silent_seconds))
            return Outcome(reason="no_progress", evidence="stream", detail=text)
        return None

    def _lingers_after_its_end(self) -> bool:
        now = self._ctx.steady()
        self._over_since = self._over_since or now
        return now - self._over_since >= self._config.linger_seconds

    async def _killed_by_person(self) -> Outcome | None:
        """Return that the run was stopped, if its program ended before it was told so."""
        seen = await self._records.see(self._run.id)
        return self._told_to_stop(seen) if seen.stop_by is not None else None

    def _told_to_stop(self, seen: RunSight) -> Outcome:
        if seen.stop_reason is not None:  # by the server: it is over what it may use
            text = self._ctx.texts(f"ends.{seen.stop_reason}", limit=seen.stop_by)
            return Outcome(reason=seen.stop_reason, evidence="stream", detail=text)
        text = self._ctx.texts("ends.stopped_by_person", person=seen.stop_by)
        return Outcome(reason="stopped_by_person", evidence="person", detail=text)

    def _lingers(self, seen: RunSight) -> bool:
        """Return whether the session has been over for so long that the program should be."""
        return not seen.session_open and self._lingers_after_its_end()

    async def _note_signs(self, seen: RunSight) -> None:
        """Note output and calls as what proves that the run goes on."""
        called, printed = seen.calls > self._calls > 0, self._reading.lines > self._lines
        if called and self._kept:
            called = self._kept = False  # that was this runner, not the program
        self._calls, self._lines = max(seen.calls, self._calls), self._reading.lines
        now = self._ctx.steady()
        if called or printed:
            self._moved = self._kept_at = now
            self._processor = None
            evidence: Evidence = "call" if called else "stream"
            waits = seen.state == "waiting" and not (called and seen.waits_for == "quota")
            if not waits and (seen.state, seen.evidence) != ("running", evidence):
                await self._records.enter(self._run.id, "running", evidence)
        elif seen.session_open and now - self._kept_at > _KEPT_ALIVE_SECONDS:
            self._kept, self._kept_at = True, now
            await self._records.keep_session(self._run.id)

    async def _hangs(self, seen: RunSight) -> bool:
        """Return whether nothing shows life: no output, no call, no work of the processor, no tool.

        Who waits for a person, or for an answer of this server, does nothing and is well.
        """
        if seen.state == "waiting":
            self._moved = self._ctx.steady()
        silent = self._ctx.steady() - self._moved
        in_tool = self._reading.tool_in_progress
        limit = self._config.tool_seconds if in_tool else self._config.silent_seconds
        asking = self._speaking is not None and self._speaking.dialogue.asking > 0
        if silent < limit / 2 or asking:
            return False
        used = await anyio.to_thread.run_sync(_processor_seconds, self._run.id)
        if self._processor is None:
            self._processor = used
        elif used - self._processor > _IDLE_SHARE * limit / 2:
            self._moved, self._processor = self._ctx.steady(), None
            return False
        return silent >= limit

    def _exit(self) -> Outcome:
        code = self._process.exit_code or 0
        if code == 0:
            return Outcome(reason="ok", evidence="exit", exit_code=0)
        if code < 0:
            name = str(-code)
            with suppress(ValueError):
                name = signal.Signals(-code).name
            text = self._ctx.texts("ends.process_died", signal=name)
            return Outcome(reason="process_died", evidence="exit", exit_code=code, detail=text)
        text = self._ctx.texts("ends.process_failed", code=code)
        return Outcome(reason="process_failed", evidence="exit", exit_code=code, detail=text)


def _processor_seconds(run_id: str) -> float:
    """Return how long the processes of a run have kept a processor busy, in clock ticks."""
    total = 0.0
    for process, value in marked(MARK):
        if value == run_id:
            with suppress(OSError, ValueError):
                text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
                user, system = text.rpartition(")")[2].split()[11:13]
                total += (int(user) + int(system)) / 100
    return total
