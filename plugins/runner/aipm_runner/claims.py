"""Which runs are started now: a need, a program, and nobody else who is at it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from aipm_sessions.api import MISSING_SESSIONS, WORK, Need

from aipm_core import PluginContext, Reader, Row, Tx, new_id
from aipm_runner.agent_programs import AgentPrograms
from aipm_runner.budgets import Budgets, Limit
from aipm_runner.config import RunnerConfig
from aipm_runner.parking import Parking
from aipm_runner.resuming import earlier_run
from aipm_runner.runs import FORGIVEN, RUNS_CHANGED, Run, Runs

Condition: TypeAlias = Callable[[Reader, Need], Awaitable[bool]]
LONGEST_PAUSE_SECONDS = 300.0
# Trying again does not help: a person has to change something first.
FOR_A_PERSON = (
    *("stopped_by_person", "config_missing", "program_missing", "directory_missing"),
    *("worktree_failed", "disk_full", "budget", "not_logged_in", "model_unavailable"),
    *("turn_limit", "context_full"),
)
_LAST = (
    "select end_reason, fruitless, forgiven, ended_time from runs where project_id = ? "
    "and agent_id = ? and purpose = ? and coalesce(task_id, '') = coalesce(?, '') "
    "and ended_at is not null order by number desc limit ?"
)
_HARMLESS = ("ok", "runner_stopped", "runner_lost", "quota", "resume_refused")
_NEW = (None, None, None)  # no earlier conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Why a need is not served now: until a moment, or, without one, until a person says so."""

    failures: int
    until: float | None


class RunClaims:
    """Turns needs into runs, each once."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        programs: AgentPrograms,
        budgets: Budgets,
        parking: Parking,
    ) -> None:
        self._parking = parking
        self._budgets = budgets
        self._ctx = ctx
        self._config = ctx.config
        self._runs = runs
        self._programs = programs
        self._missing = ctx.services.use(MISSING_SESSIONS)
        self._work = ctx.services.use(WORK)

    async def claim(
        self,
        owner: str,
        room: int,
        project_id: str | None = None,
        mine: Condition | None = None,
        elsewhere: tuple[str, str] | None = None,
    ) -> list[Run]:
        """Claim what can be started now, at most ``room`` of it.

        ``mine`` says which needs the claimer may serve. ``elsewhere`` names the machine and the
        person of a runner that is not on this one.
        """
        store = self._ctx.store
        waiting = [] if elsewhere else await self._parking.due(store)
        if room < 1 or not (waiting or await self._startable(store, project_id, mine)):
            return []

        async def unit(tx: Tx) -> list[Run]:
            made = [] if elsewhere else await self._unparked(tx, owner, room, project_id)
            found = await self._startable(tx, project_id, mine)
            for need in found:  # each one that begins may be the last one a limit allows
                if len(made) >= room or await self._limit(tx, need) is not None:
                    continue
                if (taken := await self._work.take(tx, need)) is not None:
                    made.append(await self._insert(tx, taken, owner, elsewhere))
            return made

        return await self._runs.write(unit)

    async def _unparked(self, tx: Tx, owner: str, room: int, project_id: str | None) -> list[Run]:
        """Claim parked runs that can go on now, and end those that nobody needs any more."""
        made: list[Run] = []
        for row in await self._parking.due(tx):
            if len(made) >= room or project_id not in (None, row["project_id"]):
                continue
            if await self._budgets.limit(tx, row["agent_id"], row["project_id"]) is None:
                run = await self._parking.claim(tx, row, owner)
                made += [run] if run else []
        return made

    async def next_retry(self) -> float | None:
        """Return in how many seconds a need that is held back may be served."""
        store, moments = self._ctx.store, list[float]()
        if (moment := await self._parking.next_moment(store)) is not None:
            moments.append(moment)
        for need in await self._missing.missing(store):
            for held in (await self.hold(store, need), await self._limit(store, need)):
                if held is not None and held.until is not None:
                    moments.append(held.until)
        return max(0.0, min(moments) - self._ctx.clock()) if moments else None

    async def hold(self, db: Reader, need: Need) -> Hold | None:
        """Return why a need is not served now, if it is not."""
        found = await self.standing(db, need)
        over = found is not None and found.until is not None and found.until <= self._ctx.clock()
        return None if over else found

    async def standing(self, db: Reader, need: Need) -> Hold | None:
        """Return what earlier failures say of a need, whatever the time is now."""
        most = self._config.max_attempts
        key = (need.project_id, need.agent_id, need.purpose, need.task_id)
        failed: list[Row] = []
        for row in await db.all(_LAST, *key, most):
            if row["forgiven"] == FORGIVEN or (
                row["end_reason"] in _HARMLESS and not row["fruitless"]
            ):
                break
            failed.append(row)
        if not failed:
            return None
        if len(failed) >= most or failed[0]["end_reason"] in FOR_A_PERSON:
            return Hold(failures=len(failed), until=None)
        pause = self._config.retry_seconds * 2 ** (len(failed) - 1)
        until = failed[0]["ended_time"] + min(pause, LONGEST_PAUSE_SECONDS)
        return Hold(failures=len(failed), until=until)

    async def _startable(
        self, db: Reader, project_id: str | None, mine: Condition | None
    ) -> list[Need]:
        return [
            need
            for need in await self._missing.missing(db)
            if project_id in (None, need.project_id)
            and (mine is None or await mine(db, need))
            and await self._may_start(db, need)
        ]

    async def _may_start(self, db: Reader, need: Need) -> bool:
        if not (await self._programs.find(db, need.agent_id)).program:
            return False
        alive = await db.one(
            "select 1 from runs where project_id = ? and agent_id = ? and purpose = ? "
            "and ended_at is null",
            *(need.project_id, need.agent_id, need.purpose),
        )
        if alive is not None or await self.hold(db, need) is not None:
            return False
        return await self._limit(db, need) is None

    async def _limit(self, db: Reader, need: Need) -> Limit | None:
        """Return which limit keeps a need from being served now, if one does."""
        return await self._budgets.limit(db, need.agent_id, need.project_id)

    async def _insert(
        self, tx: Tx, need: Need, owner: str, elsewhere: tuple[str, str] | None
    ) -> Run:
        run_id, now = new_id("run"), self._ctx.now()
        program = (await self._programs.find(tx, need.agent_id)).program
        machine, person = elsewhere or (None, None)
        earlier = await earlier_run(tx, need, program, machine)
        await tx.run(
            "insert into runs (id, agent_id, project_id, purpose, task_id, program, owner, state, "
            "since, evidence, evidence_at, created_at, machine, person, "
            "account, home, program_session, resumes) values "
            "(?, ?, ?, ?, ?, ?, ?, 'claimed', ?, 'lease', ?, ?, ?, ?, ?, ?, ?, ?)",
            *(run_id, need.agent_id, need.project_id, need.purpose, need.task_id, program),
            *(owner, now, now, now, machine, person, self._budgets.account(program)),
            *((earlier.home, earlier.program_session, earlier.id) if earlier else _NEW),
        )
        tx.wake(RUNS_CHANGED)
        return await self._runs.get(run_id, tx)
