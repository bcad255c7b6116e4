"""Runs as they are stored: each change of state with what proves it, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from aipm_sessions.api import MISSING_SESSIONS, SESSIONS

from aipm_core import Json, PluginContext, Purpose, Reader, Row, Tx, Unit, iso
from aipm_runner.api import EndReason, Evidence, RunEnd, RunnerHooks, State
from aipm_runner.config import RunnerConfig

RUNS_CHANGED = "runs"
"""The topic that is woken when a run begins, ends, or is to be tried again."""
FORGIVEN, LEFT_ALONE = 1, 2
"""What people said of a failed run: try again; or leave it as it is."""
T = TypeVar("T")
_OF_A_PROGRAM = ("process_failed", "process_died", "no_progress", "hung_after_result", "unknown")
_KEY = "project_id = ? and agent_id = ? and purpose = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One life of one agent's program."""

    id: str
    agent_id: str
    project_id: str
    purpose: Purpose
    task_id: str | None
    program: str
    owner: str
    beat: int
    state: State
    waits_for: str | None
    since: str
    evidence: Evidence
    evidence_at: str
    session_id: str | None
    workspace: str | None
    repository: str | None
    branch: str | None
    base: str | None
    snapshot: str | None
    stop_by: str | None
    end_reason: EndReason | None
    exit_code: int | None
    detail: str | None
    tokens: int | None
    cost_usd: float | None
    guarded: int | None
    program_session: str | None
    created_at: str
    ended_at: str | None
    undone_by: str | None = None
    undone_at: str | None = None
    machine: str | None = None
    person: str | None = None
    step: int = 0
    stop_reason: EndReason | None = None
    account: str | None = None
    home: str | None = None
    resumes: str | None = None
    parked: int = 0
    parked_until: float | None = None

    @property
    def key(self) -> tuple[str, str, Purpose]:
        """What there is one living run of at a time."""
        return self.project_id, self.agent_id, self.purpose

    def shown(self) -> dict[str, Json]:
        """Return a run as people see it."""
        shown = {name: getattr(self, name) for name in _COLUMNS if name not in _HIDDEN}
        return {
            **shown,
            "guarded": None if self.guarded is None else bool(self.guarded),
            "parked": bool(self.parked),
            "parked_until": iso(self.parked_until) if self.parked_until is not None else None,
        }


_HIDDEN = {"owner", "beat", "repository", "program_session", "step", "stop_reason", "home"}
_COLUMNS = tuple(field.name for field in fields(Run))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended, and what shows it."""

    reason: EndReason
    evidence: Evidence
    exit_code: int | None = None
    detail: str | None = None
    snapshot: str | None = None


def run_of(row: Row) -> Run:
    """Make a run of its row."""
    return Run(**{name: row[name] for name in _COLUMNS})


def run_topic(run_id: str) -> str:
    """Name what is woken when a run changes, or its log grows."""
    return f"run:{run_id}"


class Runs:
    """Reads and writes ``runs``."""

    def __init__(self, ctx: PluginContext[RunnerConfig]) -> None:
        self._ctx = ctx
        self._sessions = ctx.services.use(SESSIONS)
        self._missing = ctx.services.use(MISSING_SESSIONS)

    async def write(self, unit: Unit[T]) -> T:
        """Run a unit; every change of this plugin goes through here."""
        return await self._ctx.store.write(unit)

    @property
    def reader(self) -> Reader:
        """The store, to read from."""
        return self._ctx.store

    async def find(self, run_id: str, db: Reader | None = None) -> Run | None:
        """Find a run."""
        row = await (db or self._ctx.store).one("select * from runs where id = ?", run_id)
        return run_of(row) if row else None

    async def get(self, run_id: str, db: Reader | None = None) -> Run:
        """Find a run that somebody named; refuse what is none."""
        if (run := await self.find(run_id, db)) is None:
            raise self._ctx.refuse("run_not_found", 404, run_id=run_id)
        return run

    async def newest(self, limit: int, projects: Sequence[str]) -> list[Run]:
        """List the runs of these projects, newest first."""
        places = ", ".join("?" for _ in projects) or "null"
        rows = await self._ctx.store.scan(
            f"select * from runs where project_id in ({places}) order by number desc limit ?",
            *(*projects, limit),
        )
        return [run_of(row) for row in rows]

    async def alive(self) -> list[Run]:
        """List the runs that have not ended."""
        rows = await self._ctx.store.all("select * from runs where ended_at is null limit 1000")
        return [run_of(row) for row in rows]

    async def enter(
        self,
        run_id: str,
        state: State,
        evidence: Evidence,
        *,
        waits_for: str | None = None,
    ) -> None:
        """Note a new state of a run that has not ended."""
        await self.write(lambda tx: self.note_state(tx, run_id, state, evidence, waits_for))

    async def note_state(
        self, tx: Tx, run_id: str, state: State, evidence: Evidence, waits_for: str | None = None
    ) -> None:
        """Note a new state as part of a transaction."""
        now = self._ctx.now()
        await tx.run(
            "update runs set state = ?, waits_for = ?, since = ?, evidence = ?, evidence_at = ? "
            "where id = ? and ended_at is null",
            *(state, waits_for, now, evidence, now, run_id),
        )
        tx.wake(run_topic(run_id), RUNS_CHANGED)

    async def end(self, run_id: str, outcome: Outcome) -> bool:
        """End a run and its session; ``False`` if it has ended before."""
        return await self.write(lambda tx: self.note_end(tx, run_id, outcome))

    async def note_end(self, tx: Tx, run_id: str, outcome: Outcome) -> bool:
        """End a run as part of a transaction.

        Who was taken for lost and was not may still say how it ended: that is better known.
        """
        run = await self.find(run_id, tx)
        if run is None or (run.ended_at is not None and run.end_reason != "runner_lost"):
            return False
        outcome = await self._by_the_account(tx, run, outcome)
        now = self._ctx.now()
        if run.session_id is not None:
            await self._sessions.close(tx, run.session_id, "revoked")
        await tx.run(
            "update runs set state = 'ended', waits_for = null, since = ?, evidence = ?, "
            "evidence_at = ?, end_reason = ?, exit_code = ?, detail = ?, ended_at = ?, "
            "ended_time = ?, parked = 0, snapshot = coalesce(?, snapshot) where id = ?",
            *(now, outcome.evidence, now, outcome.reason, outcome.exit_code, outcome.detail),
            *(now, self._ctx.clock(), outcome.snapshot, run_id),
        )
        if outcome.reason == "ok" and await self._still_needed(tx, run):
            await tx.run("update runs set fruitless = 1 where id = ?", run_id)
        tx.wake(run_topic(run_id), RUNS_CHANGED)
        end = RunEnd(
            run_id=run_id,
            agent_id=run.agent_id,
            project_id=run.project_id,
            purpose=run.purpose,
            task_id=run.task_id,
            reason=outcome.reason,
        )
        for owned in self._ctx.given(RunnerHooks.aipm_run_observers):
            await owned.record.ended(tx, end)
        return True

    async def _by_the_account(self, tx: Tx, run: Run, outcome: Outcome) -> Outcome:
        """A program that fails while its account is used up has not failed at its task."""
        if outcome.reason not in _OF_A_PROGRAM:
            return outcome
        sql = "select until from account_limits where account = ? and until > ?"
        row = await tx.one(sql, run.account or run.program, self._ctx.clock())
        if row is None:
            return outcome
        text = self._ctx.texts("ends.quota", until=iso(row["until"]))
        return replace(outcome, reason="quota", detail=text)

    async def _still_needed(self, tx: Tx, run: Run) -> bool:
        """Return whether what the run was started for waits as before."""
        return any(
            (need.project_id, need.agent_id, need.purpose, need.task_id) == (*run.key, run.task_id)
            for need in await self._missing.missing(tx)
        )

    async def note_stop(self, tx: Tx, run_id: str, by: str) -> None:
        """Note who wants a run to stop; the first one counts."""
        await tx.run("update runs set stop_by = coalesce(stop_by, ?) where id = ?", by, run_id)
        tx.wake(run_topic(run_id))

    async def note_undone(self, tx: Tx, run_id: str, by: str) -> None:
        """Note who took a run back; the first one counts."""
        await tx.run(
            "update runs set undone_by = ?, undone_at = ? where id = ? and undone_at is null",
            *(by, self._ctx.now(), run_id),
        )
        tx.wake(run_topic(run_id))

    async def forgive(self, tx: Tx, project_id: str, agent_id: str, purpose: Purpose) -> int:
        """Count failures no more, so that a start is tried again; return how many there were."""
        tx.wake(RUNS_CHANGED)
        return await tx.run(
            f"update runs set forgiven = 1 where {_KEY} and forgiven <> 1 and ended_at is not null "
            "and (end_reason <> 'ok' or fruitless = 1)",
            *(project_id, agent_id, purpose),
        )
