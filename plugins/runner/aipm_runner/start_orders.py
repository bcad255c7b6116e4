"""Starting an agent because a person says so: whatever failed before counts no more."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY, MISSING_SESSIONS, WORK

from aipm_core import Json, PluginContext, Purpose, Tx
from aipm_runner.agent_programs import AgentPrograms
from aipm_runner.config import RunnerConfig
from aipm_runner.runs import Runs

_ALIVE = (
    "select id from runs where project_id = ? and agent_id = ? and purpose = ? and ended_at is null"
)


class StartOrders:
    """An agent that runs is left alone; one that is not needed is not started."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runs: Runs, agents: AgentPrograms) -> None:
        self._ctx = ctx
        self._runs = runs
        self._agents = agents
        self._directory = ctx.services.use(DIRECTORY)
        self._work = ctx.services.use(WORK)
        self._missing = ctx.services.use(MISSING_SESSIONS)

    async def start(
        self, tx: Tx, project_id: str, agent_id: str, purpose: Purpose
    ) -> dict[str, Json]:
        """Let the next runner that looks start an agent; return the run if it goes on already."""
        await self._check_program(tx, project_id, agent_id)
        alive = await tx.one(_ALIVE, project_id, agent_id, purpose)
        task_id = None if alive else await self._needed(tx, project_id, agent_id, purpose)
        await self._runs.forgive(tx, project_id, agent_id, purpose)
        return {
            "agent_id": agent_id,
            "purpose": purpose,
            "task_id": task_id,
            "run_id": alive["id"] if alive else None,
        }

    async def _check_program(self, tx: Tx, project_id: str, agent_id: str) -> None:
        if not await self._directory.is_member(tx, agent_id, project_id):
            raise self._ctx.refuse("agent_not_found", 404, agent=agent_id)
        if not (await self._agents.find(tx, agent_id)).program:
            raise self._ctx.refuse("no_program", 409, agent=agent_id)

    async def _needed(self, tx: Tx, project_id: str, agent_id: str, purpose: Purpose) -> str | None:
        """Return the task an agent is to be started for; refuse when it is not needed."""
        key = (project_id, agent_id, purpose)
        for need in await self._missing.missing(tx):
            if (need.project_id, need.agent_id, need.purpose) == key:
                return need.task_id
        project = await self._directory.project(tx, project_id)
        if project is not None and project.paused:
            raise self._ctx.refuse("project_is_paused", 409, project=project_id)
        needs = {(one.project_id, one.agent_id, one.purpose) for one in await self._work.needs(tx)}
        code = "already_attended" if key in needs else "nothing_to_start"
        raise self._ctx.refuse(code, 409, agent=agent_id)
