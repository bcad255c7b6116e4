"""Work of a run, made ready for a person to merge: committed on its branch, tried, not forced."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aipm_runner.git import GitFailed, git


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A branch that is ready, what it would conflict with, and how a person merges it."""

    branch: str
    commit: str
    ahead: int
    conflicts: tuple[str, ...]

    @property
    def command(self) -> str:
        """What a person types in the project's directory."""
        return f"git merge {self.branch}"


async def prepare_merge(workspace: Path, repository: Path, branch: str, message: str) -> Merge:
    """Commit what a worktree holds on its branch, and try the merge without doing it.

    Neither the project's own directory nor its branch changes. Raises ``GitFailed``.
    """
    if (await git(workspace, "status", "--porcelain")).strip():
        await git(workspace, "add", "--all")
        await git(workspace, "commit", "--no-verify", "--quiet", "-m", message)
    commit = (await git(workspace, "rev-parse", "HEAD")).strip()
    ahead = int(await git(repository, "rev-list", "--count", f"HEAD..{commit}"))
    return Merge(
        branch=branch,
        commit=commit,
        ahead=ahead,
        conflicts=await _conflicts(repository, commit),
    )


async def _conflicts(repository: Path, commit: str) -> tuple[str, ...]:
    try:
        await git(repository, "merge-tree", "--write-tree", "--name-only", "HEAD", commit)
    except GitFailed as error:
        lines = error.output.splitlines()[1:]
        if not lines:
            raise
        return tuple(lines[: lines.index("")] if "" in lines else lines)
    return ()
