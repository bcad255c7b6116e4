"""What the machine of a run has to know to start it."""

from __future__ import annotations

from aipm_sessions.api import DIRECTORY

from aipm_core import PluginContext
from aipm_runner.agent_programs import AgentPrograms
from aipm_runner.config import RunnerConfig
from aipm_runner.run_records import Assignment
from aipm_runner.runs import Run


class Assignments:
    """Puts a claimed run together with its agent's fields and its project's directory."""

    def __init__(self, ctx: PluginContext[RunnerConfig], agents: AgentPrograms) -> None:
        self._ctx = ctx
        self._agents = agents
        self._directory = ctx.services.use(DIRECTORY)

    async def of(self, run: Run) -> Assignment:
        """Return the assignment of a run."""
        store = self._ctx.store
        sql = "select max(number) as number from run_log where run_id = ?"
        row = await store.one(sql, run.id)
        project = await self._directory.project(store, run.project_id)
        return Assignment(
            run=run,
            agent=await self._agents.find(store, run.agent_id),
            directory=project.directory if project else None,
            logged=int(row["number"] or 0) if row else 0,
            team=await self._team(run),
        )

    async def _team(self, run: Run) -> tuple[tuple[str, str], ...]:
        """List whom the agent of a run can give work without anybody's approval."""
        store, below = self._ctx.store, list[tuple[str, str]]()
        for one in await self._directory.members(store, run.project_id):
            if one.kind == "ai" and await self._directory.is_ancestor(store, run.agent_id, one.id):
                role = (await self._agents.find(store, one.id)).role_text or one.name
                below.append((one.id, " ".join(role.split())))
        return tuple(below)
