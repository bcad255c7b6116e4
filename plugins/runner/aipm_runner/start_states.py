"""Why an agent is started or not, for everyone to see: fields of the view ``members``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from aipm_sessions.api import SESSIONS, WORK, Need
from aipm_views.api import ViewFields

from aipm_core import Json, PluginContext, Reader, Row, iso
from aipm_runner.agent_programs import AgentPrograms
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
        }


class StartStates:
    """Looks at what is stored and at nothing else: no clock, no other process."""

    def __init__(
        self, ctx: PluginContext[RunnerConfig], agents: AgentPrograms, claims: RunClaims
    ) -> None:
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
        found = {}
        for agent_id in ids:
            agent = await self._agents.find(db, agent_id)
            found[agent_id] = {
                "program": agent.program or None,
                "model": agent.model,
                "workspace": agent.workspace,
                "max_budget_usd": agent.max_budget_usd,
                "needs": states.get(agent_id, []),
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
            return StartState(need=need, state="starts" if self._in_server else "needs_runner")
        state = "asks" if hold.until is None else "held"
        return StartState(need=need, state=state, run=run, failures=hold.failures, until=hold.until)

    async def _is_attended(self, db: Reader, need: Need) -> bool:
        """Return whether a session that somebody else opened is there for a need."""
        live = await self._sessions.live(db, need.project_id, need.agent_id)
        return any(info.session.purpose == need.purpose for info in live)
