"""Runs that wait for a person: what failed too often, or lacks something only a person can give."""

from __future__ import annotations

from aipm_sessions.api import (
    DIRECTORY,
    MISSING_SESSIONS,
    OPERATOR,
    DecisionSource,
    PendingDecision,
)

from aipm_core import PluginContext, Reader, Row, Tx
from aipm_runner.claims import RunClaims
from aipm_runner.config import RunnerConfig
from aipm_runner.runs import FORGIVEN, LEFT_ALONE, RUNS_CHANGED, Run, Runs, run_of

_LAST = (
    "select * from runs where project_id = ? and agent_id = ? and purpose = ? "
    "and ended_at is not null order by number desc limit 1"
)


class FailedRuns:
    """Yes tries again; no leaves it as it is."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runs: Runs, claims: RunClaims) -> None:
        self._ctx = ctx
        self._runs = runs
        self._claims = claims
        self._directory = ctx.services.use(DIRECTORY)
        self._missing = ctx.services.use(MISSING_SESSIONS)

    def source(self) -> DecisionSource:
        """Return what the inbox asks."""
        return DecisionSource(name="runs", pending=self.pending, answer=self.answer)

    async def pending(self, db: Reader, project_id: str | None) -> list[PendingDecision]:
        """List the runs that are not tried again by themselves, oldest first."""
        found: list[PendingDecision] = []
        for need in await self._missing.missing(db):
            hold = await self._claims.hold(db, need)
            if hold is None or hold.until is not None or project_id not in (None, need.project_id):
                continue
            row = await db.one(_LAST, need.project_id, need.agent_id, need.purpose)
            if row is not None and row["forgiven"] not in (FORGIVEN, LEFT_ALONE):
                found.append(self._decision(row, hold.failures))
        return sorted(found, key=lambda decision: decision.created_at)

    def _decision(self, row: Row, failures: int) -> PendingDecision:
        run = run_of(row)
        why = run.detail or self._ctx.texts("ends.fruitless")
        return PendingDecision(
            id=run.id,
            kind="run",
            project_id=run.project_id,
            agent_id=run.agent_id,
            summary=self._ctx.texts("inbox.failed", agent=run.agent_id, times=failures, why=why),
            created_at=run.ended_at or run.since,
        )

    async def answer(
        self, decision_id: str, *, approved: bool, by: str, reason: str | None
    ) -> bool:
        """Try again, or leave it; ``False`` if the id is no run's."""
        run = await self._runs.find(decision_id)
        if run is None:
            return False
        member = await self._directory.is_member(self._ctx.store, by, run.project_id)
        if by != OPERATOR and not member:
            raise self._ctx.refuse("not_your_project", 403)

        await self._runs.write(lambda tx: self.settle(tx, run, approved=approved))
        return True

    async def settle(self, tx: Tx, run: Run, *, approved: bool) -> None:
        """Try again, or leave it; refuse when nothing waits for an answer."""
        if approved:
            changed = await self._runs.forgive(tx, *run.key)
        else:
            tx.wake(RUNS_CHANGED)
            changed = await tx.run(
                "update runs set forgiven = ? where id = ? and forgiven = 0 "
                "and ended_at is not null and (end_reason <> 'ok' or fruitless = 1)",
                *(LEFT_ALONE, run.id),
            )
        if not changed:
            raise self._ctx.refuse("nothing_to_answer", 409, run_id=run.id)
