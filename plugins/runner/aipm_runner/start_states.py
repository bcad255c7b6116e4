"""Why an agent is started or not, for everyone to see: fields of the view ``members``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from aipm_sessions.api import SESSIONS, WORK, Need, NeedState
from aipm_views.api import ViewFields

from aipm_core import Json, PluginContext, Reader, Row, iso
from aipm_runner.agent_programs import AgentPrograms
from aipm_runner.budgets import Budgets
from aipm_runner.claims import RunClaims
from aipm_runner.config import RunnerConfig
from aipm_runner.runs import RUNS_CHANGED

WORK_TOPICS = (
    *("tasks:{project}", "tasks:{project}:{}", "chat:{project}:{}", "delegations:{project}:{}"),
    *("conversations:{project}:{}", "sessions:{project}", "project:{project}", RUNS_CHANGED),
)
"""What is woken when an agent may be needed, or not any more."""
_LAST = (
    "select * from runs where project_id = ? and agent_id = ? and purpose = ? "
    "order by number desc limit 1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartState:
    """What becomes of one need: ``state`` is one of those that docs/views.md lists."""

    need: Need
    state: str
    run: Row | None = None
    failures: int = 0
    until: float | None = None
    what: str = ""
    """A limit, in one sentence."""

    def shown(self) -> dict[str, Json]:
        """Return it as people see it."""
        return {
            "purpose": self.need.purpose,
            "task_id": self.need.task_id,
            "reason": self.need.reason,
            "pool": self.need.pool,
            "state": self.state,
            "run_id": self.run["id"] if self.run else None,
            "until": iso(self.until) if self.until is not None else None,
            "what": self.what or None,
        }


class StartStates:
    """Looks at what is stored and at nothing else: no clock, no other process."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        agents: AgentPrograms,
        claims: RunClaims,
        budgets: Budgets,
    ) -> None:
        self._ctx = ctx
        self._budgets = budgets
        self._agents = agents
        self._claims = claims
        self._in_server = ctx.config.in_server
        self._work = ctx.services.use(WORK)
        self._sessions = ctx.services.use(SESSIONS)

    def fields(self) -> ViewFields:
        """Return the fields of members."""
        return ViewFields(view="members", name="runner", topics=WORK_TOPICS, read=self._read)

    async def _read(
        self, db: Reader, project_id: str, ids: frozenset[str]
    ) -> Mapping[str, Mapping[str, Json]]:
        states: dict[str, list[Json]] = defaultdict(list)
        for one in await self.of_project(db, project_id):
            states[one.need.agent_id].append(one.shown())
        waits: dict[str | None, list[Json]] = defaultdict(list)
        for wait in await self._work.waits(db):
            if wait.project_id == project_id and wait.task_id is not None:
                told = {"task_id": wait.task_id, "cause": wait.cause, "of": wait.of}
                waits[wait.agent_id].append(told)
        found = {}
        for agent_id in ids:
            agent = await self._agents.find(db, agent_id)
            found[agent_id] = {
                "program": agent.program or None,
                "model": agent.model,
                "workspace": agent.workspace,
                "max_budget_usd": agent.max_budget_usd,
                "needs": states.get(agent_id, []),
                "waits": waits.get(agent_id, []),
            }
        return found

    async def of_project(self, db: Reader, project_id: str) -> list[StartState]:
        """Return the state of every need of a project, one for each agent and purpose."""
        needs: dict[tuple[str, str], Need] = {}
        for need in await self._work.needs(db):
            if need.project_id == project_id:
                needs.setdefault((need.agent_id, need.purpose), need)
        return [await self.of(db, need) for _, need in sorted(needs.items())]

    async def of(self, db: Reader, need: Need) -> StartState:
        """Return what becomes of a need."""
        run = await db.one(_LAST, need.project_id, need.agent_id, need.purpose)
        if run is not None and run["ended_at"] is None:
            parked = bool(run["parked"])
            until = run["parked_until"] if parked else None
            return StartState(
                need=need, state="parked" if parked else "running", run=run, until=until
            )
        if not (await self._agents.find(db, need.agent_id)).program:
            return StartState(need=need, state="no_program", run=run)
        if await self._is_attended(db, need):
            return StartState(need=need, state="attended", run=run)
        hold = await self._claims.standing(db, need)
        if hold is None:
            return await self._unheld(db, need)
        state = "asks" if hold.until is None else "held"
        return StartState(need=need, state=state, run=run, failures=hold.failures, until=hold.until)

    async def _unheld(self, db: Reader, need: Need) -> StartState:
        """Return what becomes of a need that no failure holds back."""
        limit = await self._budgets.standing(db, need.agent_id, need.project_id)
        if limit is not None:
            return StartState(need=need, state=limit.why, until=limit.until, what=limit.what)
        return StartState(need=need, state="starts" if self._in_server else "needs_runner")

    def need_state(self) -> NeedState:
        """Return what is said of a need wherever needs are listed."""
        return NeedState(name="runner", read=self._said)

    async def _said(self, db: Reader, need: Need) -> Mapping[str, Json]:
        state = await self.of(db, need)
        shown = state.shown()
        over = state.until is not None and state.until <= self._ctx.clock()
        word = "starts" if over else state.state
        text = self._ctx.texts(
            f"states.{word}", agent=need.agent_id, until=shown["until"], what=state.what
        )
        return {"state": word, "run_id": shown["run_id"], "until": shown["until"], "text": text}

    async def _is_attended(self, db: Reader, need: Need) -> bool:
        """Return whether a session that somebody else opened is there for a need."""
        live = await self._sessions.live(db, need.project_id, need.agent_id)
        return any(info.session.purpose == need.purpose for info in live)
