"""Runners on other machines, as the server serves them."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY, MISSING_SESSIONS, Agent, Need

from aipm_core import PluginContext, Reader, Tx
from aipm_runner.agent_programs import AgentPrograms
from aipm_runner.api import Answer
from aipm_runner.assignments import Assignments
from aipm_runner.budgets import Budgets
from aipm_runner.claims import RunClaims
from aipm_runner.config import RunnerConfig
from aipm_runner.problems import Problem
from aipm_runner.report_steps import ReportSteps
from aipm_runner.run_records import Assignment, Place, RunSight
from aipm_runner.runner_messages import (
    ClaimRequest,
    NativeRequest,
    PlaceReport,
    Reports,
    WatchRequest,
)
from aipm_runner.runs import RUNS_CHANGED, Run, Runs, run_of, run_topic
from aipm_runner.stored_records import StoredRecords

_HELD = "select * from runs where owner = ? and person = ? and ended_at is null limit 1000"
_BEAT = "update runs set beat = beat + 1 where owner = ? and person = ? and ended_at is null"


class RemoteRunners:
    """Claims, sees and writes runs in the name of a person."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        claims: RunClaims,
        agents: AgentPrograms,
        budgets: Budgets,
        records: StoredRecords,
    ) -> None:
        self._ctx = ctx
        self._runs = runs
        self._claims = claims
        self._agents = agents
        self._assignments = Assignments(ctx, agents)
        self._records = records
        self._steps = ReportSteps(runs, budgets)
        self._directory = ctx.services.use(DIRECTORY)
        self._missing = ctx.services.use(MISSING_SESSIONS)

    async def claim(self, person: Agent, asked: ClaimRequest) -> list[Assignment]:
        """Claim what this person may run; what an answer that got lost had claimed comes first."""
        await self._check(person, asked)
        await self._beat(person, asked.owner)  # not while it waits: who asked may be dead by then

        async def look() -> list[Run] | None:
            known = await self._ctx.store.all(_HELD, asked.owner, person.id)
            lost = [run for row in known if (run := run_of(row)).id not in asked.holds]
            return lost or await self._claimed(person, asked) or None

        topics = (*await self._missing.topics(), RUNS_CHANGED)
        retry = await self._claims.next_retry()
        seconds = asked.wait_seconds if retry is None else min(asked.wait_seconds, retry + 0.01)
        found = await self._ctx.store.wait_until(topics, look, seconds)
        return [await self._assignments.of(run) for run in found or []]

    async def _claimed(self, person: Agent, asked: ClaimRequest) -> list[Run]:
        async def mine(db: Reader, need: Need) -> bool:
            return await self._may_run(db, person, asked, need)

        return await self._claims.claim(
            asked.owner, asked.room, asked.project_id, mine, (asked.machine, person.id)
        )

    async def _check(self, person: Agent, asked: ClaimRequest) -> None:
        """Refuse what would be waited for without end."""
        store, project_id = self._ctx.store, asked.project_id
        if project_id and not await self._directory.is_member(store, person.id, project_id):
            raise self._ctx.refuse("project_not_found", 404, project=project_id)
        if asked.under is not None:
            chief = await self._directory.agent(store, asked.under)
            mine = set(await self._directory.projects_of(store, person.id))
            if chief is None or not mine & set(await self._directory.projects_of(store, chief.id)):
                raise self._ctx.refuse("agent_not_found", 404, agent=asked.under)

    async def _may_run(self, db: Reader, person: Agent, asked: ClaimRequest, need: Need) -> bool:
        if not await self._directory.is_member(db, person.id, need.project_id):
            return False
        above = await self._directory.is_ancestor(db, person.id, need.agent_id)
        if person.role != "manager" and not above:
            return False
        program = (await self._agents.find(db, need.agent_id)).program
        if program not in asked.programs:
            return False
        return asked.under is None or await self._is_under(db, asked.under, need.agent_id)

    async def _is_under(self, db: Reader, person_id: str, agent_id: str) -> bool:
        """Return whether the next person above an agent is this one."""
        seen: set[str] = set()
        agent = await self._directory.agent(db, agent_id)
        while agent is not None and agent.parent_id is not None and agent.id not in seen:
            seen.add(agent.id)
            if agent.parent_id == person_id:
                return True
            agent = await self._directory.agent(db, agent.parent_id)
            if agent is not None and agent.kind == "human":
                return False
        return False

    async def watch(self, person: Agent, asked: WatchRequest) -> dict[str, RunSight]:
        """Return what is known of a runner's runs, once something may have changed."""
        await self._beat(person, asked.owner)
        held = await self._held(person, asked.owner)
        topics = [run_topic(run.id) for run in held]
        topics += [f"session:{run.session_id}" for run in held if run.session_id]
        await self._records.woken(topics, asked.wait_seconds)
        for run in held:
            if run.id in asked.alive:
                await self._records.keep_session(run.id)
        return {run.id: await self._records.see(run.id) for run in held}

    async def open_session(self, person: Agent, owner: str, run_id: str) -> tuple[str, str]:
        """Open the session of a run of this runner."""
        run = await self._own(person, owner, run_id)
        if run.ended_at is not None:
            raise self._ctx.refuse("run_ended", 409, run_id=run_id)
        try:
            return await self._records.open_session(run)
        except Problem as problem:
            text = self._ctx.texts(f"problems.{problem.key}", **problem.values)
            raise self._ctx.refuse("not_startable", 409, reason=text) from None

    async def judge(self, person: Agent, asked: NativeRequest, run_id: str) -> Answer:
        """Return whether the program of a run of this runner may use a tool of its own."""
        await self._own(person, asked.owner, run_id)
        return await self._records.judge(run_id, asked.tool, asked.arguments)

    async def take(self, person: Agent, asked: PlaceReport, run_id: str) -> bool:
        """Write down where a run of this runner works."""
        await self._own(person, asked.owner, run_id)
        place = Place(
            workspace=asked.workspace,
            repository=asked.repository,
            branch=asked.branch,
            base=asked.base,
        )
        return await self._records.take(run_id, place)

    async def apply(self, person: Agent, asked: Reports, run_id: str) -> int:
        """Apply what is new of these reports; return the last step that is applied."""

        async def unit(tx: Tx) -> int:
            run = await self._own(person, asked.owner, run_id, tx)
            return await self._steps.apply(tx, run, asked.reports)

        return await self._runs.write(unit)

    async def _own(self, person: Agent, owner: str, run_id: str, db: Reader | None = None) -> Run:
        run = await self._runs.find(run_id, db)
        if run is None or (run.owner, run.person) != (owner, person.id):
            raise self._ctx.refuse("run_not_found", 404, run_id=run_id)
        return run

    async def _held(self, person: Agent, owner: str) -> list[Run]:
        rows = await self._ctx.store.all(_HELD, owner, person.id)
        return [run_of(row) for row in rows]

    async def _beat(self, person: Agent, owner: str) -> None:
        if not await self._held(person, owner):
            return

        async def unit(tx: Tx) -> None:
            await tx.run(_BEAT, owner, person.id)

        await self._runs.write(unit)
