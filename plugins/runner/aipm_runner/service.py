"""Runs, as people list, follow, stop and take them back."""

from __future__ import annotations

from collections.abc import Sequence

from aipm_core import Json, PluginContext, ServiceKey
from aipm_runner.changes import Changes
from aipm_runner.config import RunnerConfig
from aipm_runner.reaper import Reaper
from aipm_runner.run_log import LogReader
from aipm_runner.runs import Run, Runs

MOST_RUNS = 200


class RunService:
    """What commands and routes share."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        changes: Changes,
        reaper: Reaper,
    ) -> None:
        self._ctx = ctx
        self._runs = runs
        self._reaper = reaper
        self.changes = changes
        self.log = LogReader(ctx)

    async def listed(self, projects: Sequence[str], limit: int) -> list[Json]:
        """List the runs of projects, newest first, after a look at whose runner has died."""
        await self._reaper.reap()
        return [self.shown(run) for run in await self._runs.newest(limit, projects)]

    async def get(self, run_id: str) -> Run:
        """Return a run as it is now."""
        run = await self._runs.get(run_id)
        if run.ended_at is None:
            await self._reaper.reap()
            run = await self._runs.get(run_id)
        return run

    def shown(self, run: Run) -> dict[str, Json]:
        """Return a run with one sentence of what to do about its end."""
        advice = self._ctx.texts(f"advice.{run.end_reason}") if run.end_reason else None
        return {**run.shown(), "advice": advice}


RUN_SERVICE = ServiceKey[RunService]("runner.runs")
