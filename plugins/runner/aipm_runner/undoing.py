"""Taking a run back in a person's name: its branch becomes what it was when the run began."""

from __future__ import annotations

from aipm_core import Call, Json, PluginContext, Tx
from aipm_runner.config import RunnerConfig
from aipm_runner.runs import Run, Runs
from aipm_runner.service import RunService


class Undoing:
    """Undone twice is undone once; what was made is kept under a name of its own."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runs: Runs, service: RunService) -> None:
        self._ctx = ctx
        self._runs = runs
        self._service = service

    async def undo(self, call: Call, run: Run) -> Json:
        """Put the branch back, then note who did it; a crash in between is made up for."""
        if run.undone_at is None:
            await self._service.changes.undo(run)
        by = call.caller.agent_id

        async def unit(tx: Tx) -> Json:
            await self._runs.note_undone(tx, run.id, by)
            return {"run_id": run.id, "branch": run.branch, "kept": kept_under(run.id)}

        return await call.write(self._ctx.store, unit)


def kept_under(run_id: str) -> str:
    """Name the reference that keeps what a run had made when it was taken back."""
    return f"refs/aipm/undone/{run_id}"
