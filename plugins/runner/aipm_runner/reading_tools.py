"""What people look up of runs: which there are, what they print, and what they change."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_sessions.api import DIRECTORY
from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, tool
from aipm_runner.config import RunnerConfig
from aipm_runner.log_lines import shown
from aipm_runner.run_log import MOST_LINES
from aipm_runner.runs import Run
from aipm_runner.service import MOST_RUNS, RunService

_ID = Field(max_length=80)
_LONGEST_WAIT_SECONDS = 25.0
_LONGEST_NUMBER = 2**53


class ListRuns(Arguments):
    """Arguments of ``list_runs``."""

    project_id: str | None = Field(default=None, max_length=80)
    limit: int = Field(default=MOST_RUNS, ge=1, le=1000)


class OneRun(Arguments):
    """A run of a project."""

    project_id: str = _ID
    run_id: str = _ID


class ShowChanges(OneRun):
    """Arguments of ``show_run_changes``."""

    as_text: bool = False


class ReadLog(OneRun):
    """Arguments of ``read_run_log``."""

    after: int = Field(default=0, ge=0, le=_LONGEST_NUMBER)
    wait_seconds: float = Field(default=0, ge=0, le=_LONGEST_WAIT_SECONDS)


class ReadingTools:
    """Membership is checked before; here every run is the project's own."""

    def __init__(self, ctx: PluginContext[RunnerConfig], service: RunService) -> None:
        self._ctx = ctx
        self._service = service
        self._directory = ctx.services.use(DIRECTORY)

    def all(self) -> Iterable[AnyTool]:
        """Return the tools."""
        person, manager = Access.PERSON, Access.MANAGER
        yield tool(self.list_runs, access=person, audience="ui", read_only=True)
        yield tool(
            self.read_run_log,
            access=person,
            audience="ui",
            read_only=True,
            deadline=_LONGEST_WAIT_SECONDS + 15,
        )
        yield tool(self.show_run_changes, access=person, audience="ui", read_only=True)
        yield tool(self.prepare_merge, access=manager, audience="ui", idempotent=True)

    async def list_runs(self, call: Call, args: ListRuns) -> Json:
        """List runs, newest first."""
        reach = await self._directory.reach(self._ctx.store, call.caller)
        chosen = [each for each in reach if args.project_id in (None, each)]
        return {"runs": await self._service.listed(chosen, args.limit)}

    async def read_run_log(self, call: Call, args: ReadLog) -> Json:
        """Return what a run has printed after a line; wait for it if there is nothing yet."""
        run = await self.run(args.project_id, args.run_id)
        if args.wait_seconds:
            await self._service.log.wait(run.id, args.after, args.wait_seconds)
            run = await self._service.get(run.id)
        lines = await self._service.log.after(run.id, args.after)
        return {
            "run_id": run.id,
            "lines": [shown(line) for line in lines],
            "more": len(lines) == MOST_LINES,
            "ended": run.ended_at is not None,
        }

    async def show_run_changes(self, call: Call, args: ShowChanges) -> Json:
        """Return what a run has changed up to now, file by file or as git writes it."""
        run = await self.run(args.project_id, args.run_id)
        if args.as_text:
            return {"run_id": run.id, **await self._service.changes.as_text(run)}
        return {"run_id": run.id, **await self._service.changes.files(run)}

    async def prepare_merge(self, call: Call, args: OneRun) -> Json:
        """Commit a run's work on its branch and try the merge, without merging."""
        run = await self.run(args.project_id, args.run_id)
        made = await self._service.changes.merge(run)
        return {
            "id": run.id,
            "branch": made.branch,
            "commit": made.commit,
            "ahead": made.ahead,
            "conflicts": list(made.conflicts),
            "command": made.command,
        }

    async def run(self, project_id: str, run_id: str) -> Run:
        """Return a run of the project; one of another project is as unknown as none."""
        run = await self._service.get(run_id)
        if run.project_id != project_id:
            raise self._ctx.refuse("run_not_found", 404, run_id=run_id)
        return run
