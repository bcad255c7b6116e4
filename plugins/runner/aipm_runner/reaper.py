"""Ends the runs of runners that have died, and whatever processes they have left."""

from __future__ import annotations

import anyio.to_thread
from aipm_processes.api import end_marked, marked

from aipm_core import PluginContext
from aipm_runner.config import RunnerConfig
from aipm_runner.leases import RunLeases
from aipm_runner.places import Places
from aipm_runner.process import MARK
from aipm_runner.runs import Outcome, Run, Runs


class Reaper:
    """Makes the state of runs true again."""

    def __init__(
        self, ctx: PluginContext[RunnerConfig], runs: Runs, leases: RunLeases, places: Places
    ) -> None:
        self._ctx = ctx
        self._runs = runs
        self._leases = leases
        self._places = places

    async def reap(self) -> None:
        """End every run whose runner is dead; its processes first, so that no two are at work."""
        alive = [run for run in await self._runs.alive() if not run.parked]
        lost = self._leases.lost(alive)
        for run in lost:
            await self._end(run)
        for run in self._leases.unheard([run for run in alive if run not in lost]):
            if run.state != "ending":
                await self._runs.enter(run.id, "ending", "lease")
        self._leases.tidy([run for run in alive if run not in lost])

    async def sweep(self) -> None:
        """End processes of runs that are over: what is left when everything was killed at once."""
        found = await anyio.to_thread.run_sync(marked, MARK)
        ids = {run_id for _, run_id in found}
        over = {run_id for run_id in ids if await self._is_over(run_id)}
        if over:
            await anyio.to_thread.run_sync(end_marked, MARK, over)

    async def _is_over(self, run_id: str) -> bool:
        run = await self._runs.find(run_id)
        return run is not None and run.ended_at is not None

    async def _saved(self, run: Run) -> str | None:
        """Save the working copy of a run; one of another machine is saved there."""
        stored = await self._runs.find(run.id)
        if stored is None or stored.machine is not None:
            return None
        return await self._places.save(run.id, stored.workspace, stored.repository)

    async def _end(self, run: Run) -> None:
        if run.machine is None:
            await anyio.to_thread.run_sync(end_marked, MARK, (run.id,))
        outcome = Outcome(
            reason="runner_lost",
            evidence="lease",
            detail=self._ctx.texts("ends.runner_lost"),
            snapshot=await self._saved(run),
        )
        await self._runs.end(run.id, outcome)
