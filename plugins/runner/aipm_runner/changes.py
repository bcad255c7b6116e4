"""What a run has changed: a diff as data, so that pages need no parser."""

from __future__ import annotations

import re
from pathlib import Path

from aipm_core import Json, PluginContext
from aipm_runner.config import RunnerConfig
from aipm_runner.git import GitFailed, git, succeeds
from aipm_runner.merging import Merge, prepare_merge
from aipm_runner.runs import Run, Runs
from aipm_runner.working_copies import put_back, saved_state

_MOST_CHARACTERS = 1_000_000
_HUNK = re.compile(r"^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$")
_KINDS = {"+": "added", "-": "removed", " ": "same"}


class Changes:
    """Diffs of runs, and how they are taken back."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runs: Runs) -> None:
        self._ctx = ctx
        self._runs = runs

    async def text(self, run: Run) -> str:
        """Return what a run has changed, as git writes it."""
        if run.repository is None or run.base is None:
            raise self._ctx.refuse("no_repository", 409, run_id=run.id)
        if run.machine is not None:
            return await self._told(run)
        try:
            now = run.snapshot or await saved_state(Path(run.workspace or run.repository))
            return await changed_text(Path(run.repository), run.base, now)
        except GitFailed as error:
            raise self._ctx.refuse("git_failed", 409, reason=error) from None

    async def _told(self, run: Run) -> str:
        """Return what the machine of a run has told last."""
        row = await self._runs.reader.one("select text from run_changes where run_id = ?", run.id)
        return row["text"] if row else ""

    async def as_text(self, run: Run) -> dict[str, Json]:
        """Return what a run has changed as git writes it, as far as it is not too long."""
        text = await self.text(run)
        return {"text": text[:_MOST_CHARACTERS], "truncated": len(text) > _MOST_CHARACTERS}

    async def files(self, run: Run) -> dict[str, Json]:
        """Return what a run has changed, file by file, hunk by hunk."""
        text = await self.text(run)
        cut = len(text) > _MOST_CHARACTERS
        return {"files": parsed(text[:_MOST_CHARACTERS]), "truncated": cut}

    async def undo(self, run: Run) -> None:
        """Put the branch and the working copy of an ended run back to where it began.

        Where everything is so already nothing happens, so that what was kept the first time stays.
        """
        if run.ended_at is None:
            raise self._ctx.refuse("run_not_ended", 409, run_id=run.id)
        if run.machine is not None:
            raise self._ctx.refuse(
                "undo_elsewhere", 409, run_id=run.id, machine=run.machine, base=run.base or "HEAD"
            )
        if run.branch is None or run.base is None or run.workspace is None:
            raise self._ctx.refuse("undo_needs_worktree", 409, run_id=run.id)
        if any(other.workspace == run.workspace for other in await self._runs.alive()):
            raise self._ctx.refuse("working_copy_in_use", 409, run_id=run.id)
        try:
            if await self._differs(Path(run.workspace), run.base):
                await put_back(Path(run.workspace), run.id, run.base)
        except (GitFailed, OSError) as error:
            raise self._ctx.refuse("git_failed", 409, reason=error) from None

    async def _differs(self, root: Path, base: str) -> bool:
        """Return whether a working copy or its branch is not what it was at the base."""
        head = (await git(root, "rev-parse", "HEAD")).strip()
        known = (await git(root, "log", "-1", "--format=%H %P", base)).split()
        same = await succeeds(root, "diff", "--quiet", base, await saved_state(root))
        return head not in known or not same

    async def merge(self, run: Run) -> Merge:
        """Make the work of an ended run ready to be merged by a person."""
        self._check_worktree(run)
        message = self._ctx.texts("merge.message", agent=run.agent_id, task=run.task_id or "chat")
        place, repository = Path(run.workspace or ""), Path(run.repository or "")
        try:
            return await prepare_merge(place, repository, run.branch or "", message)
        except (GitFailed, OSError) as error:
            raise self._ctx.refuse("git_failed", 409, reason=error) from None

    def _check_worktree(self, run: Run) -> None:
        if run.ended_at is None:
            raise self._ctx.refuse("run_not_ended", 409, run_id=run.id)
        if run.machine is not None:
            raise self._ctx.refuse(
                "merge_elsewhere", 409, run_id=run.id, machine=run.machine, branch=run.branch or ""
            )
        if run.branch is None or run.workspace is None or run.repository is None:
            raise self._ctx.refuse("undo_needs_worktree", 409, run_id=run.id)


async def changed_text(repository: Path, base: str, now: str) -> str:
    """Return what lies between two commits, as git writes it."""
    words = ("diff", "--no-color", "--no-ext-diff", "--find-renames", "-U3", base, now)
    return await git(repository, *words)


def parsed(text: str) -> list[Json]:
    """Make data of a diff."""
    files: list[Json] = []
    file: dict[str, Json] = {}
    hunks: list[Json] = []
    lines: list[Json] = []
    for line in text.splitlines():
        if line.startswith("diff --git "):
            hunks = []
            file = {"path": line.rpartition(" b/")[2], "binary": False, "hunks": hunks}
            file |= {"added": 0, "removed": 0}
            files.append(file)
        elif found := _HUNK.match(line):
            lines = []
            old, new, title = found.groups()
            hunks.append({"old": int(old), "new": int(new), "title": title.strip(), "lines": lines})
        elif hunks and line[:1] in _KINDS:
            kind = _KINDS[line[0]]
            lines.append({"kind": kind, "text": line[1:]})
            if kind in file:
                file[kind] = int(str(file[kind])) + 1
        elif file:
            _note(file, line)
    return files


def _note(file: dict[str, Json], line: str) -> None:
    """Take up what a diff says of a whole file."""
    if line.startswith("rename from "):
        file["old_path"] = line.removeprefix("rename from ")
    elif line.startswith(("new file", "deleted file")):
        file["status"] = line.split(" ", 1)[0]
    elif line.startswith("Binary files"):
        file["binary"] = True
