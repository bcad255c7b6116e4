"""Runs, as people list, follow, stop and take them back."""

from __future__ import annotations

from aipm_core import Json, PluginContext, Purpose, ServiceKey
from aipm_runner.changes import Changes
from aipm_runner.config import RunnerConfig
from aipm_runner.reaper import Reaper
from aipm_runner.run_log import LogReader
from aipm_runner.runs import Run, Runs, run_topic
from aipm_runner.start_orders import StartOrders

MOST_RUNS = 200


class RunService:
    """What commands and routes share."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        changes: Changes,
        reaper: Reaper,
        orders: StartOrders,
    ) -> None:
        self._ctx = ctx
        self._orders = orders
        self._runs = runs
        self._reaper = reaper
        self.changes = changes
        self.log = LogReader(ctx)

    async def listed(self, project_id: str | None, limit: int = MOST_RUNS) -> list[dict[str, Json]]:
        """List runs, newest first, after a look at whose runner has died."""
        await self._reaper.reap()
        return [self.shown(run) for run in await self._runs.newest(limit, project_id)]

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

    async def start(self, project_id: str, agent_id: str, purpose: Purpose) -> dict[str, Json]:
        """Let an agent be started for what it is needed for now."""
        await self._reaper.reap()
        return await self._runs.write(
            lambda tx: self._orders.start(tx, project_id, agent_id, purpose)
        )

    async def stop(self, run_id: str, by: str) -> Run:
        """Stop a run and everything it has started."""
        await self._reaper.reap()
        return await self._runs.ask_to_stop(run_id, by)

    async def stopped(self, run_id: str, seconds: float) -> Run:
        """Wait until a run has ended, or for so long."""

        async def look() -> Run | None:
            run = await self._runs.get(run_id)
            return run if run.ended_at else None

        found = await self._ctx.store.wait_until((run_topic(run_id),), look, seconds)
        return found or await self._runs.get(run_id)

    async def undo(self, run_id: str, by: str) -> Run:
        """Put the working copy and the branch of an ended run back to where it began."""
        run = await self.get(run_id)
        await self.changes.undo(run)
        await self._runs.write(lambda tx: self._runs.note_undone(tx, run_id, by))
        return run


RUN_SERVICE = ServiceKey[RunService]("runner.runs")
