"""Runs of this machine, in the store of the server: in its process or beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aipm_sessions.api import DIRECTORY, SESSIONS, session_topic

from aipm_core import Json, PluginContext, Tx
from aipm_runner.api import Answer, Evidence, State
from aipm_runner.budgets import Budgets
from aipm_runner.config import RunnerConfig
from aipm_runner.guard import NativeGuard
from aipm_runner.parking import Parking
from aipm_runner.problems import Problem
from aipm_runner.run_records import LogLine, Park, Place, RunSight, Usage
from aipm_runner.run_writing import add_log, take_place
from aipm_runner.runs import RUNS_CHANGED, Outcome, Run, Runs, run_topic


class StoredRecords:
    """Writes every step as one transaction."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        budgets: Budgets,
        guard: NativeGuard,
        parking: Parking,
    ) -> None:
        self._parking = parking
        self._guard = guard
        self._budgets = budgets
        self._ctx = ctx
        self._runs = runs
        self._directory = ctx.services.use(DIRECTORY)
        self._sessions = ctx.services.use(SESSIONS)

    async def enter(
        self, run_id: str, state: State, evidence: Evidence, *, waits_for: str | None = None
    ) -> None:
        """Note a new state of a run that has not ended."""
        await self._runs.enter(run_id, state, evidence, waits_for=waits_for)

    async def take(self, run_id: str, place: Place) -> bool:
        """Write down where a run works; ``False`` while another run works there."""
        return await self._runs.write(lambda tx: take_place(tx, run_id, place))

    async def open_session(self, run: Run) -> tuple[str, str]:
        """Open the session of a run; one that was opened before, and not heard of, ends."""
        return await self._runs.write(lambda tx: self._open(tx, run))

    async def _open(self, tx: Tx, run: Run) -> tuple[str, str]:
        agent = await self._directory.agent(tx, run.agent_id)
        member = await self._directory.is_member(tx, run.agent_id, run.project_id)
        if agent is None or not member:
            raise Problem("config_missing", "no_member", agent=run.agent_id, project=run.project_id)
        before = await self._runs.get(run.id, tx)
        if before.session_id is not None:
            await self._sessions.close(tx, before.session_id, "revoked")
        session, token = await self._sessions.open(tx, agent, run.project_id, run.purpose)
        now = self._ctx.now()
        await tx.run(
            "update runs set state = 'starting', waits_for = null, since = ?, evidence = 'lease', "
            "evidence_at = ?, session_id = ? where id = ?",
            *(now, now, session.id, run.id),
        )
        tx.wake(run_topic(run.id))
        return session.id, token

    async def see(self, run_id: str) -> RunSight:
        """Return what is known of a run now."""
        run = await self._runs.find(run_id)
        if run is None:
            return RunSight()
        info = None
        if run.session_id is not None:
            info = await self._sessions.find(self._ctx.store, run.session_id)
        return RunSight(
            state=run.state,
            evidence=run.evidence,
            ended=run.ended_at is not None,
            waits_for=run.waits_for,
            stop_by=run.stop_by,
            stop_reason=run.stop_reason,
            session_open=info is not None,
            calls=info.last_seen if info else 0.0,
        )

    async def wait(self, run_id: str, seconds: float, *, any_run: bool = False) -> None:
        """Wait until a run, or any run, may have changed, or for so long."""
        run = await self._runs.find(run_id)
        topics = [run_topic(run_id), *([RUNS_CHANGED] if any_run else [])]
        if run is not None and run.session_id is not None:
            topics.append(session_topic(run.session_id))
        await self.woken(topics, seconds)

    async def woken(self, topics: Sequence[str], seconds: float) -> None:
        """Wait until one of these topics is woken, or for so long."""
        rung = False

        async def look() -> bool | None:
            nonlocal rung
            was, rung = rung, True
            return was or None

        await self._ctx.store.wait_until(topics, look, seconds)

    async def keep_session(self, run_id: str) -> None:
        """Note that the program of a session that does not call is alive."""
        run = await self._runs.find(run_id)
        if run is not None and run.session_id is not None:
            self._sessions.seen(run.session_id)

    async def judge(self, run_id: str, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Return whether a run's program may use a tool of its own; not without a session."""
        run = await self._runs.find(run_id)
        info = None
        if run is not None and run.session_id is not None:
            info = await self._sessions.find(self._ctx.store, run.session_id)
        if info is None:
            return Answer(allowed=False, text=self._ctx.texts("guard.not_judged", tool=tool))
        return await self._guard.ask(info.session, tool, arguments)

    async def write_log(self, run_id: str, lines: Sequence[LogLine]) -> None:
        """Add lines to a run's log; a line that is there stays."""
        await self._runs.write(lambda tx: add_log(tx, run_id, lines))

    async def use(self, run_id: str, usage: Usage) -> None:
        """Note what a run has used."""
        await self._runs.write(lambda tx: self._budgets.note(tx, run_id, usage))

    async def park(self, run_id: str, park: Park) -> bool:
        """Note that a run waits without a process."""
        await self._runs.write(lambda tx: self._parking.park(tx, run_id, park))
        return True

    async def end(self, run_id: str, outcome: Outcome) -> None:
        """End a run and its session, if it has not ended."""
        await self._runs.end(run_id, outcome)
