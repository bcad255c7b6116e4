"""Gives each run its working copy: one writer at a time in a shared directory."""

from __future__ import annotations

from pathlib import Path

from aipm_core import PluginContext
from aipm_runner.config import RunnerConfig
from aipm_runner.git import GitFailed
from aipm_runner.problems import Problem
from aipm_runner.run_records import Assignment, Place, RunRecords
from aipm_runner.runs import Run
from aipm_runner.setting_up import SetupFailed, set_up
from aipm_runner.working_copies import (
    WorkingCopy,
    branch_name,
    repository_of,
    save,
    shared,
    worktree,
)

_WAIT_SECONDS = 5.0


class Places:
    """Prepares working copies, and saves them."""

    def __init__(self, ctx: PluginContext[RunnerConfig]) -> None:
        self._ctx = ctx

    async def prepare(self, given: Assignment, records: RunRecords) -> WorkingCopy:
        """Return where a run works, once it is nobody else's; raises ``Problem``."""
        copy = await self._copy(given)
        place = Place(
            workspace=str(copy.root or copy.directory),
            repository=str(copy.repository) if copy.repository else None,
            branch=copy.branch,
            base=copy.base,
        )
        while not await records.take(given.run.id, place):
            await records.enter(given.run.id, "waiting", "lease", waits_for="slot")
            await records.wait(given.run.id, _WAIT_SECONDS, any_run=True)
            seen = await records.see(given.run.id)
            if seen.ended or seen.stop_by is not None:
                raise Problem("stopped_by_person", "stopped")
        return copy

    async def save(self, run_id: str, workspace: str | None, repository: str | None) -> str | None:
        """Save what a run has left in its working copy; return the commit."""
        if repository is None or workspace is None:
            return None
        try:
            return await save(Path(workspace), run_id)
        except (GitFailed, OSError):
            return None  # the working copy is gone: somebody took it away

    async def _copy(self, given: Assignment) -> WorkingCopy:
        run, directory = given.run, given.directory
        if directory is None:
            raise Problem("directory_missing", "no_directory", project=run.project_id)
        if not directory.is_dir():
            raise Problem("directory_missing", "directory_gone", directory=directory)
        try:
            top = None if given.agent.workspace == "directory" else await repository_of(directory)
            if top is None:
                return await shared(directory)
            return await self._worktree(run, directory, top)
        except SetupFailed as error:
            raise Problem("worktree_failed", "setup_failed", reason=error) from None
        except (GitFailed, OSError) as error:
            full = "No space left" in str(error)
            raise Problem(
                "disk_full" if full else "worktree_failed", "worktree_failed", reason=error
            ) from error

    async def _worktree(self, run: Run, directory: Path, top: Path) -> WorkingCopy:
        name = run.task_id or run.purpose
        place = self._ctx.data_dir.resolve() / "worktrees" / run.project_id / run.agent_id / name
        config = self._ctx.config

        async def prepare(made: Path) -> None:
            if config.setup:
                await set_up(config.setup, made, run.id, config.setup_seconds)

        return await worktree(directory, top, place, branch_name(run.agent_id, name), prepare)
