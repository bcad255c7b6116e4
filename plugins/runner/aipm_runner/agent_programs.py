"""Which program an agent is, and what it is told: the fields this plugin adds to agents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from aipm_sessions.api import DIRECTORY

from aipm_core import CallError, PluginContext, Reader, Tx
from aipm_runner.config import RunnerConfig
from aipm_runner.programs import Programs
from aipm_runner.runs import RUNS_CHANGED

WORKSPACES = ("worktree", "directory")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProgram:
    """What is run for an agent; without a program a person starts it."""

    agent_id: str
    program: str = ""
    model: str | None = None
    system_prompt: str | None = None
    role_text: str | None = None
    workspace: str | None = None
    max_budget_usd: float | None = None


FIELDS = tuple(field.name for field in fields(AgentProgram))[1:]


class AgentPrograms:
    """Reads and writes ``agent_programs``."""

    def __init__(self, ctx: PluginContext[RunnerConfig], programs: Programs) -> None:
        self._ctx = ctx
        self._programs = programs
        self._directory = ctx.services.use(DIRECTORY)

    async def find(self, db: Reader, agent_id: str) -> AgentProgram:
        """Return the fields of an agent."""
        row = await db.one("select * from agent_programs where agent_id = ?", agent_id)
        if row is None:
            return AgentProgram(agent_id=agent_id)
        return AgentProgram(agent_id=agent_id, **{name: row[name] for name in FIELDS})

    async def any(self, db: Reader) -> bool:
        """Return whether any agent has a program."""
        return await db.one("select 1 from agent_programs where program <> '' limit 1") is not None

    async def change(self, tx: Tx, agent_id: str, values: Mapping[str, Any]) -> None:
        """Set some fields of an agent; failures of before count no more."""
        agent = await self._directory.agent(tx, agent_id)
        if agent is None or agent.kind != "ai":
            raise self._refused("agents have programs, people have none")
        merged = {**asdict(await self.find(tx, agent_id)), **values}
        await tx.run(
            "insert into agent_programs (agent_id, program, model, system_prompt, role_text, "
            "workspace, max_budget_usd) values (?, ?, ?, ?, ?, ?, ?) "
            "on conflict (agent_id) do update set program = excluded.program, "
            "model = excluded.model, system_prompt = excluded.system_prompt, "
            "role_text = excluded.role_text, workspace = excluded.workspace, "
            "max_budget_usd = excluded.max_budget_usd",
            *(agent_id, *(merged[name] for name in FIELDS)),
        )
        await tx.run(
            "update runs set forgiven = 1 where agent_id = ? and ended_at is not null "
            "and forgiven <> 1",
            agent_id,
        )
        tx.wake(RUNS_CHANGED)

    def check(self, values: Mapping[str, Any]) -> None:
        """Refuse values that cannot be, with one sentence."""
        program, workspace = values.get("program"), values.get("workspace")
        if program and not self._programs.knows(program):
            names = ", ".join(self._programs.names()) or "none"
            raise self._refused(
                f"there is no program {program!r} (there is: {names}); "
                "name it in aipm.toml under [plugins.runner.programs]"
            )
        if workspace is not None and workspace not in WORKSPACES:
            raise self._refused(f"workspace is one of: {', '.join(WORKSPACES)}")
        budget = values.get("max_budget_usd")
        if budget is not None and not budget > 0:
            raise self._refused("max_budget_usd is a number above 0")

    def _refused(self, reason: str) -> CallError:
        return CallError(reason, code="invalid_program", status=400)
