"""The life of one run, from its claim to its end."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import anyio

from aipm_core import PluginContext, StoreUnavailable
from aipm_runner.config import RunnerConfig
from aipm_runner.conversation import Conversations
from aipm_runner.places import Places
from aipm_runner.problems import Problem
from aipm_runner.reading import Reading
from aipm_runner.resuming import is_sound
from aipm_runner.run_log import LogWriter
from aipm_runner.run_records import Assignment, Park, RunRecords
from aipm_runner.runs import Outcome, Run
from aipm_runner.starting import Started, Starting
from aipm_runner.watching import Watching
from aipm_runner.working_copies import WorkingCopy

logger = logging.getLogger(__name__)
_FLUSH_SECONDS = 0.2
_REFUSALS = ("process_failed", "process_died", "handshake_timeout", "unknown")
_PAUSE_SECONDS = 1.0  # until an end that could not be written is tried again


class RunLife:
    """Prepares, starts, watches, cleans up and ends one run, whatever happens on the way."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        places: Places,
        starting: Starting,
        conversations: Conversations,
    ) -> None:
        self._ctx = ctx
        self._places = places
        self._starting = starting
        self._conversations = conversations
        self._talks: dict[str, Started] = {}

    async def carry(self, given: Assignment, records: RunRecords, mcp_url: str) -> None:
        """Live one run to its end."""
        run = given.run
        log = LogWriter(records, self._ctx, run.id, given.logged)
        place: list[WorkingCopy] = []
        self._talks.pop(run.id, None)
        outcome = Outcome(
            reason="runner_stopped", evidence="lease", detail=self._ctx.texts("ends.runner_stopped")
        )
        try:
            outcome = await self._go(given, records, mcp_url, log, place)
        except Problem as problem:
            text = self._ctx.texts(f"problems.{problem.key}", **problem.values)
            log.add("runner", text)
            outcome = Outcome(reason=problem.reason, evidence="lease", detail=text)
        except Exception:
            logger.exception("run %s failed", run.id)
            outcome = Outcome(
                reason="unknown", evidence="lease", detail=self._ctx.texts("ends.unknown")
            )
        finally:
            with anyio.CancelScope(shield=True):
                self._starting.ended(run)
                await self._end(run, records, log, outcome, place)

    async def _go(
        self,
        given: Assignment,
        records: RunRecords,
        mcp_url: str,
        log: LogWriter,
        place: list[WorkingCopy],
    ) -> Outcome:
        run = given.run
        await records.enter(run.id, "preparing", "lease")
        adapter, _ = self._starting.adapter(run)  # what cannot start leaves no working copy behind
        place.append(await self._places.prepare(given, records))
        reading = Reading(adapter, log, records, run)
        started = await self._starting.start(given, place[0], records, mcp_url, reading)
        flushing = asyncio.create_task(self._keep_flushing(reading))
        try:
            await records.enter(run.id, "running", "lease")
            self._talks[run.id] = started
            return await Watching(self._ctx, records, run, started, reading).to_the_end()
        finally:
            flushing.cancel()
            with anyio.CancelScope(shield=True):
                await self._clean_up(started)
                await self._note_last(run, reading)

    async def _clean_up(self, started: Started) -> None:
        if started.speaking is not None:
            started.speaking.close()
        if not started.process.exited.is_set():
            await started.process.stop(self._ctx.config.stop_seconds)
        await started.process.clean_up()

    async def _note_last(self, run: Run, reading: Reading) -> None:
        try:
            await reading.flush()
        except StoreUnavailable as error:
            logger.warning("what run %s has used could not be noted: %s", run.id, error)

    async def _keep_flushing(self, reading: Reading) -> None:
        while True:
            await anyio.sleep(_FLUSH_SECONDS)
            try:
                await reading.flush()
            except StoreUnavailable:
                await anyio.sleep(_PAUSE_SECONDS)

    async def _end(
        self,
        run: Run,
        records: RunRecords,
        log: LogWriter,
        outcome: Outcome,
        place: list[WorkingCopy],
    ) -> None:
        """Write the end down; as long as the store does not take it, it is tried again."""
        outcome, park = self._judged(run, outcome)
        for copy in place:
            where, repository = str(copy.root), str(copy.repository) if copy.repository else None
            commit = await self._places.save(run.id, where, repository)
            outcome = replace(outcome, snapshot=commit)
        keep = park is not None or is_sound(outcome.reason, outcome.evidence)
        await self._conversations.leave(run, keep=keep)
        while True:
            try:
                await log.flush()
                if park is None or not await self._parked(run, records, park, outcome):
                    await records.end(run.id, outcome)
            except StoreUnavailable as error:
                logger.warning("the end of run %s waits for the store: %s", run.id, error)
                await anyio.sleep(_PAUSE_SECONDS)
            else:
                return

    def _judged(self, run: Run, outcome: Outcome) -> tuple[Outcome, Park | None]:
        """Say what becomes of the conversation: refused, to be parked, or what it was."""
        started = self._talks.pop(run.id, None)
        spoken = started.speaking.dialogue if started and started.speaking else None
        if started is None or spoken is None:
            return outcome, None
        if started.resumed and spoken.session is None and outcome.reason in _REFUSALS:
            text = self._ctx.texts("said.resume_refused", program=run.program)
            return replace(outcome, reason="resume_refused", detail=text), None
        able = started.adapter.abilities.resume and spoken.session is not None
        if outcome.reason != "quota" or spoken.limit_until is None or not able:
            return outcome, None
        park = Park(waits_for="quota", until=spoken.limit_until, detail=outcome.detail)
        return outcome, park

    async def _parked(self, run: Run, records: RunRecords, park: Park, outcome: Outcome) -> bool:
        return await records.park(run.id, replace(park, snapshot=outcome.snapshot))
