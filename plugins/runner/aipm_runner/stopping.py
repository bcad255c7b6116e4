"""Stopping a run in a person's name: the program is told, or killed with all it has started."""

from __future__ import annotations

import anyio.to_thread
from aipm_processes.api import end_marked

from aipm_core import Call, Json, PluginContext, Tx
from aipm_runner.config import RunnerConfig
from aipm_runner.process import MARK
from aipm_runner.runs import Outcome, Run, Runs
from aipm_runner.service import RunService


class Stopping:
    """A run that has ended is stopped: asking twice changes nothing."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runs: Runs, service: RunService) -> None:
        self._ctx = ctx
        self._runs = runs
        self._service = service

    async def stop(self, call: Call, run: Run, *, kill: bool) -> Json:
        """Note who wants the run to stop; its runner hears of it and ends the program.

        Whoever kills does not wait for that runner: everything with the run's mark on this
        machine ends at once. On another machine the runner does it, a few seconds later.
        """
        by = call.caller.agent_id

        async def unit(tx: Tx) -> Json:
            now = await self._runs.get(run.id, tx)
            if now.ended_at is None:
                await self._runs.note_stop(tx, run.id, by)
            if now.ended_at is None and now.parked:  # nobody is there who would end it
                text = self._ctx.texts("ends.stopped_by_person", person=by)
                end = Outcome(reason="stopped_by_person", evidence="person", detail=text)
                await self._runs.note_end(tx, run.id, end)
            return {"run_id": run.id, "ended": now.ended_at is not None, "killed": kill}

        told = await call.write(self._ctx.store, unit)
        if kill and isinstance(told, dict) and not told["ended"]:
            await anyio.to_thread.run_sync(end_marked, MARK, (run.id,))
        return told
