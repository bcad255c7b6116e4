"""What runs may cost and what accounts allow: who is over stops, and what would be over waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from aipm_core import PluginContext, Reader, Tx, iso
from aipm_runner.agent_programs import AgentPrograms
from aipm_runner.config import RunnerConfig
from aipm_runner.run_records import Usage
from aipm_runner.runs import RUNS_CHANGED, Run, Runs, run_topic

DAY_SECONDS = 86_400
_USED = (
    "update runs set tokens = coalesce(?, tokens), cost_usd = coalesce(?, cost_usd), "
    "guarded = coalesce(?, guarded), program_session = coalesce(?, program_session), "
    "home = coalesce(home, id) where id = ?"
)
_LIMITED = (
    "insert into account_limits (account, until, noted_at) values (?, ?, ?) "
    "on conflict (account) do update set until = excluded.until, noted_at = excluded.noted_at"
)
_OF_AGENT = "select coalesce(sum(cost_usd), 0) from runs where agent_id = ? and created_at >= ?"
_OF_PROJECT = "select coalesce(sum(cost_usd), 0) from runs where project_id = ? and created_at >= ?"
_ALIVE_OF_AGENT = "select count(*) from runs where agent_id = ? and ended_at is null and parked = 0"
_ALIVE_OF_ACCOUNT = (
    "select count(*) from runs where account = ? and ended_at is null and parked = 0"
)
_NEWEST = "select max(created_at) from runs where agent_id = ? or project_id = ?"
_STOP = (
    "update runs set stop_by = coalesce(stop_by, ?), stop_reason = coalesce(stop_reason, 'budget') "
    "where id = ? and ended_at is null and stop_by is null"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Why nothing is started for an agent now, and until when."""

    why: Literal["quota", "budget", "slot"]
    until: float | None
    what: str


class Budgets:
    """Money by run, agent and project; accounts by what their programs say."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        agents: AgentPrograms,
    ) -> None:
        self._ctx = ctx
        self._config = ctx.config
        self._runs = runs
        self._agents = agents

    def account(self, program: str) -> str:
        """Return whose limits a program shares."""
        settings = self._config.programs.get(program)
        return (settings.account if settings else None) or program

    async def note(self, tx: Tx, run_id: str, usage: Usage) -> None:
        """Note the sums of a run; stop it if they are over a budget, or its account used up."""
        run = await self._runs.find(run_id, tx)
        if run is None:
            return
        known = (usage.tokens, usage.cost_usd, usage.guarded, usage.program_session)
        await tx.run(_USED, *known, run_id)
        if usage.limit_until is not None and usage.limit_until > self._ctx.clock():
            account = run.account or run.program
            await tx.run(_LIMITED, account, usage.limit_until, self._ctx.now())
            await self._runs.note_state(tx, run_id, "waiting", "stream", "quota")
        if usage.cost_usd is not None and (over := await self.exceeded(tx, run, usage.cost_usd)):
            await tx.run(_STOP, over, run_id)
        tx.wake(run_topic(run_id), RUNS_CHANGED)

    async def exceeded(self, db: Reader, run: Run, cost: float) -> str | None:
        """Return which budget a run is over, if it is."""
        most = self._config.run_budget_usd
        if most is not None and cost > most:
            return self._ctx.texts("budgets.run", most=f"{most:.2f}")
        found = await self._day(db, run.agent_id, run.project_id, strict=True)
        return found.what if found else None

    async def limit(self, db: Reader, agent_id: str, project_id: str) -> Limit | None:
        """Return why nothing is started for an agent in a project now, if nothing is."""
        program = (await self._agents.find(db, agent_id)).program
        account = self.account(program)
        row = await db.one("select until from account_limits where account = ?", account)
        if row is not None and row["until"] > self._ctx.clock():
            text = self._ctx.texts("budgets.quota", account=account, until=iso(row["until"]))
            return Limit(why="quota", until=row["until"], what=text)
        return await self._day(db, agent_id, project_id, strict=False) or await self._slot(
            db, agent_id, account
        )

    async def standing(self, db: Reader, agent_id: str, project_id: str) -> Limit | None:
        """Return which limit is or was last in force, whatever the time is now."""
        account = self.account((await self._agents.find(db, agent_id)).program)
        found: list[Limit] = []
        row = await db.one("select until from account_limits where account = ?", account)
        if row is not None:
            text = self._ctx.texts("budgets.quota", account=account, until=iso(row["until"]))
            found.append(Limit(why="quota", until=row["until"], what=text))
        newest = await db.one(_NEWEST, agent_id, project_id)
        if newest is not None and newest[0]:  # a run that is being made has no time yet
            day = datetime.fromisoformat(newest[0]).timestamp() // DAY_SECONDS * DAY_SECONDS
            over = await self._day(db, agent_id, project_id, strict=False, start=day)
            found += [over] if over else []
        if found:
            return max(found, key=lambda limit: limit.until or 0)
        return await self._slot(db, agent_id, account)

    async def _day(
        self,
        db: Reader,
        agent_id: str,
        project_id: str,
        *,
        strict: bool,
        start: float | None = None,
    ) -> Limit | None:
        """Return which budget of a day is used up, or, if strict, exceeded; without one: today."""
        if start is None:
            start = self._ctx.clock() // DAY_SECONDS * DAY_SECONDS
        agents = (await self._agents.find(db, agent_id)).max_budget_usd
        projects = self._config.project_budget_usd
        for most, sql, name in (
            (agents, _OF_AGENT, agent_id),
            (projects, _OF_PROJECT, project_id),
        ):
            if most is None:
                continue
            row = await db.one(sql, name, iso(start))
            spent = float(row[0]) if row else 0.0
            if spent > most or (spent == most and not strict):
                text = self._ctx.texts("budgets.day", name=name, most=f"{most:.2f}")
                return Limit(why="budget", until=start + DAY_SECONDS, what=text)
        return None

    async def _slot(self, db: Reader, agent_id: str, account: str) -> Limit | None:
        for sql, name, most in (
            (_ALIVE_OF_AGENT, agent_id, self._config.max_runs_per_agent),
            (_ALIVE_OF_ACCOUNT, account, self._config.max_runs_per_account),
        ):
            row = await db.one(sql, name)
            if row is not None and row[0] >= most:
                text = self._ctx.texts("budgets.slot", name=name, most=most)
                return Limit(why="slot", until=None, what=text)
        return None

    async def is_limited(self, db: Reader, run: Run) -> bool:
        """Return whether the account of a run is used up now."""
        row = await db.one(
            "select until from account_limits where account = ?", run.account or run.program
        )
        return row is not None and row["until"] > self._ctx.clock()
