"""Parked runs: the program has ended, its conversation is kept, and nothing is spent.

A parked run is still the agent's run, in the state ``waiting``; what proves it is the end of its
process (``exit``). It has no owner and no process. Once what it waits for is there, whoever starts
programs claims it like a new one, and the program goes on in the same conversation.
"""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY, SESSIONS, WORK, Need

from aipm_core import PluginContext, Reader, Row, Tx
from aipm_runner.config import RunnerConfig
from aipm_runner.run_records import Park
from aipm_runner.runs import RUNS_CHANGED, Outcome, Run, Runs, run_of, run_topic

PARKED, READY = 1, 2
_PARK = (
    "update runs set state = 'waiting', waits_for = ?, since = ?, evidence = 'exit', "
    "evidence_at = ?, owner = '', parked = 1, parked_until = ?, detail = ?, "
    "snapshot = coalesce(?, snapshot) where id = ? and ended_at is null"
)
_READY = "update runs set parked = 2 where id = ? and parked = 1"
_CLAIM = (
    "update runs set owner = ?, beat = beat + 1, parked = 0, parked_until = null, detail = null, "
    "state = 'claimed', waits_for = null, since = ?, evidence = 'lease', evidence_at = ? "
    "where id = ? and parked <> 0"
)
_ALL = "select * from runs where parked <> 0 and ended_at is null order by number limit 1000"


class Parking:
    """Parks runs, and lets them go on."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runs: Runs) -> None:
        self._ctx = ctx
        self._runs = runs
        self._work = ctx.services.use(WORK)
        self._directory = ctx.services.use(DIRECTORY)
        self._sessions = ctx.services.use(SESSIONS)

    async def park(self, tx: Tx, run_id: str, park: Park) -> None:
        """Note that a run's process has ended and its conversation waits.

        Who waits for a person keeps its session, so that the question stays the session's own.
        """
        run = await self._runs.find(run_id, tx)
        if run is None or run.ended_at is not None:
            return
        if run.session_id is not None and park.waits_for not in ("confirmation", "answer"):
            await self._sessions.close(tx, run.session_id, "revoked")
        now = self._ctx.now()
        values = (park.waits_for, now, now, park.until, park.detail, park.snapshot, run_id)
        await tx.run(_PARK, *values)
        tx.wake(run_topic(run_id), RUNS_CHANGED)

    async def let_go_on(self, tx: Tx, run_id: str) -> bool:
        """Let a parked run go on: what it waited for is there. ``False`` if it is not parked."""
        changed = await tx.run(_READY, run_id) == 1
        tx.wake(run_topic(run_id), RUNS_CHANGED)
        return changed

    async def due(self, db: Reader) -> list[Row]:
        """List the parked runs that can go on, or are needed no more."""
        rows = await db.all(_ALL)
        needed = {_key(need) for need in await self._work.needs(db)} if rows else set()
        return [row for row in rows if self._is_due(row) or not _is_in(row, needed)]

    async def claim(self, tx: Tx, row: Row, owner: str) -> Run | None:
        """Give a parked run to a runner; one that nobody needs any more ends."""
        needed = {_key(need) for need in await self._work.needs(tx)}
        if not _is_in(row, needed):
            await self._end_unneeded(tx, run_of(row))
            return None
        now = self._ctx.now()
        if not self._is_due(row) or not await tx.run(_CLAIM, owner, now, now, row["id"]):
            return None
        tx.wake(run_topic(row["id"]), RUNS_CHANGED)
        return await self._runs.get(row["id"], tx)

    async def next_moment(self, db: Reader) -> float | None:
        """Return when the next parked run can go on by itself."""
        moments = [row["parked_until"] for row in await db.all(_ALL)]
        return min((one for one in moments if one is not None), default=None)

    def _is_due(self, row: Row) -> bool:
        until = row["parked_until"]
        return row["parked"] == READY or (until is not None and until <= self._ctx.clock())

    async def _end_unneeded(self, tx: Tx, run: Run) -> None:
        project = await self._directory.project(tx, run.project_id)
        if project is not None and project.paused:
            return  # it is needed again when the project goes on
        text = self._ctx.texts("ends.not_needed")
        await self._runs.note_end(tx, run.id, Outcome(reason="ok", evidence="lease", detail=text))


def _key(need: Need) -> tuple[str, str, str, str | None]:
    return need.project_id, need.agent_id, need.purpose, need.task_id


def _is_in(row: Row, needed: set[tuple[str, str, str, str | None]]) -> bool:
    return (row["project_id"], row["agent_id"], row["purpose"], row["task_id"]) in needed
