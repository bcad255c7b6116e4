"""What people do with runs: start, stop, take back, leave alone; and which programs there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from aipm_sessions.api import DIRECTORY
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, Purpose, Tx, tool
from aipm_runner.agent_programs import AgentPrograms
from aipm_runner.config import RunnerConfig
from aipm_runner.decisions import FailedRuns
from aipm_runner.programs import Programs
from aipm_runner.reading_tools import OneRun, ReadingTools
from aipm_runner.runs import Runs
from aipm_runner.service import RunService
from aipm_runner.start_orders import StartOrders
from aipm_runner.stopping import Stopping
from aipm_runner.undoing import Undoing

_ID = Field(max_length=80)


class StartRun(Arguments):
    """Arguments of ``start_run``."""

    project_id: str = _ID
    agent_id: str = _ID
    purpose: Purpose = "task"


class StopRun(OneRun):
    """Arguments of ``stop_run``."""

    kill: bool = False


class ShowPrograms(Arguments):
    """Arguments of ``show_programs``."""

    project_id: str = _ID
    agent_id: str | None = Field(default=None, max_length=80)


class PeoplesTools:
    """Membership is checked before; here every run is the project's own."""

    def __init__(
        self,
        ctx: PluginContext[RunnerConfig],
        runs: Runs,
        service: RunService,
        programs: Programs,
        agents: AgentPrograms,
        failed: FailedRuns,
        orders: StartOrders,
    ) -> None:
        self._ctx = ctx
        self._runs = runs
        self._service = service
        self._programs = programs
        self._agents = agents
        self._failed = failed
        self._orders = orders
        self._reading = ReadingTools(ctx, service)
        self._stopping = Stopping(ctx, runs, service)
        self._undoing = Undoing(ctx, runs, service)
        self._directory = ctx.services.use(DIRECTORY)

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        person, manager = Access.PERSON, Access.MANAGER
        yield from self._reading.all()
        yield tool(self.start_run, access=person, audience="ui", idempotent=True)
        yield tool(self.stop_run, access=person, audience="ui", idempotent=True, destructive=True)
        yield tool(self.undo_run, access=manager, audience="ui", idempotent=True, destructive=True)
        yield tool(self.leave_run, access=person, audience="ui", idempotent=True)
        yield tool(self.show_programs, access=manager, audience="ui", read_only=True)

    async def start_run(self, call: Call, args: StartRun) -> Json:
        """Start what an agent is needed for now, whatever has failed before."""

        async def unit(tx: Tx) -> Json:
            return await self._orders.start(tx, args.project_id, args.agent_id, args.purpose)

        return await call.write(self._ctx.store, unit)

    async def stop_run(self, call: Call, args: StopRun) -> Json:
        """Tell a run's program to stop, or kill it with everything it has started."""
        run = await self._reading.run(args.project_id, args.run_id)
        return await self._stopping.stop(call, run, kill=args.kill)

    async def undo_run(self, call: Call, args: OneRun) -> Json:
        """Put the branch of a run back to where the run began."""
        return await self._undoing.undo(call, await self._reading.run(args.project_id, args.run_id))

    async def leave_run(self, call: Call, args: OneRun) -> Json:
        """Leave a failed run as it is."""
        run = await self._reading.run(args.project_id, args.run_id)

        async def unit(tx: Tx) -> Json:
            await self._failed.settle(tx, run, approved=False)
            return {"run_id": run.id}

        return await call.write(self._ctx.store, unit)

    async def show_programs(self, call: Call, args: ShowPrograms) -> Json:
        """List the programs that the settings allow, and what an agent has of them."""
        names: list[Json] = list(self._programs.names())
        if args.agent_id is None:
            return {"programs": names, "agent": None}
        store = self._ctx.store
        if not await self._directory.is_member(store, args.agent_id, args.project_id):
            raise self._ctx.refuse("agent_not_found", 404, agent=args.agent_id)
        return {"programs": names, "agent": asdict(await self._agents.find(store, args.agent_id))}
