"""Reports of a runner, applied in their order and each once, however often they come."""

from __future__ import annotations

from collections.abc import Sequence

from aipm_core import Tx, redact
from aipm_runner.budgets import Budgets
from aipm_runner.run_records import Usage
from aipm_runner.run_writing import add_log, keep_changes
from aipm_runner.runner_messages import (
    ChangesReport,
    EndReport,
    LogReport,
    Numbered,
    Report,
    StateReport,
)
from aipm_runner.runs import Outcome, Run, Runs


class ReportSteps:
    """A run remembers the last step it has taken."""

    def __init__(self, runs: Runs, budgets: Budgets) -> None:
        self._budgets = budgets
        self._runs = runs

    async def apply(self, tx: Tx, run: Run, reports: Sequence[Numbered]) -> int:
        """Apply what is new; return the last step that is applied. A step too far waits."""
        step = run.step
        for numbered in reports:
            if numbered.step == step + 1:
                await self._take(tx, run.id, numbered.report)
                step = numbered.step
        if step != run.step:
            await tx.run("update runs set step = ? where id = ?", step, run.id)
        return step

    async def _take(self, tx: Tx, run_id: str, report: Report) -> None:
        if isinstance(report, StateReport):
            how = (report.state, report.evidence, report.waits_for)
            await self._runs.note_state(tx, run_id, *how)
        elif isinstance(report, LogReport):
            lines = [
                (number, at, stream, redact(text)) for number, at, stream, text in report.lines
            ]
            await add_log(tx, run_id, lines)
        elif isinstance(report, ChangesReport):
            await keep_changes(tx, run_id, report.text)
        elif isinstance(report, EndReport):
            told = report.model_dump(exclude={"kind"})
            await self._runs.note_end(tx, run_id, Outcome(**told))
        else:
            usage = Usage(**report.model_dump(exclude={"kind"}))
            await self._budgets.note(tx, run_id, usage)
