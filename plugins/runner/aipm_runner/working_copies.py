"""Where a program works: a ``git worktree`` of its task, or the project's directory."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio.to_thread

from aipm_runner.git import GitFailed, git, held_lock, succeeds

_SAVED = "aipm: working copy"
_UNFINISHED = ("aipm: being prepared", "initializing")
_ODD = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkingCopy:
    """A place to work in; without a repository nothing of it can be saved or shown.

    ``root`` is the top of the working copy, ``directory`` the project's place in it.
    """

    directory: Path
    root: Path | None = None
    repository: Path | None = None
    branch: str | None = None
    base: str | None = None


async def repository_of(directory: Path) -> Path | None:
    """Return the top of the git repository a directory is in, if it has a commit."""
    try:
        top = Path((await git(directory, "rev-parse", "--show-toplevel")).rstrip("\n"))
    except GitFailed:
        return None
    return top if await succeeds(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}") else None


async def shared(directory: Path) -> WorkingCopy:
    """Return the project's directory itself as working copy."""
    top = await repository_of(directory)
    if top is None:
        return WorkingCopy(directory=directory)
    base = await saved_state(top)
    return WorkingCopy(directory=directory, root=top, repository=top, base=base)


async def worktree(
    directory: Path,
    top: Path,
    place: Path,
    branch: str,
    prepare: Callable[[Path], Awaitable[None]] | None = None,
) -> WorkingCopy:
    """Return the worktree of a branch, made if it is not there; raises ``GitFailed``.

    ``prepare`` is called for a new one; one whose preparation fails is not there.
    """
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Who lists or adds worktrees while another one is added meets it half-written.
    of_all = place.parents[1] / "worktrees.lock"
    async with held_lock(place.with_name(f"{place.name}.lock")) as lock:
        async with held_lock(of_all) as shared_lock:
            if await _is_unfinished(top, place):
                await _discard(top, place)
            new = not (place / ".git").exists()
            if new:
                await _add(top, place, branch, (lock, shared_lock))
        if new and prepare is not None:
            await prepare(place)
        if new:
            async with held_lock(of_all):
                await git(top, "worktree", "unlock", str(place))
    await _remove_stale_lock(place)
    within = (await git(directory, "rev-parse", "--show-prefix")).strip("\n/")
    base = await saved_state(place)
    return WorkingCopy(
        directory=place / within, root=place, repository=top, branch=branch, base=base
    )


async def _add(top: Path, place: Path, branch: str, locks: tuple[int, ...]) -> None:
    """Make a worktree. It counts as finished when it is unlocked, so that a death is seen."""
    known = await succeeds(top, "show-ref", "--verify", "--quiet", f"refs/heads/{branch}")
    made = (str(place), branch) if known else ("-b", branch, str(place), "HEAD")
    await git(top, "worktree", "add", "--lock", "--reason", _UNFINISHED[0], *made, holds=locks)


async def _is_unfinished(top: Path, place: Path) -> bool:
    """Return whether a worktree is known but not there, or whoever made it died over it.

    So nobody has worked in it, or nothing of that is left.
    """
    return _tells_unfinished(await git(top, "worktree", "list", "--porcelain", "-z"), place)


def _tells_unfinished(listing: str, place: Path) -> bool:
    found = ""
    for field in listing.split("\0"):
        key, _, value = field.partition(" ")
        found = value if key == "worktree" else found
        if Path(found) != place:
            continue
        if (key == "worktree" and not place.exists()) or (key == "locked" and value in _UNFINISHED):
            return True
    return False


async def _discard(top: Path, place: Path) -> None:
    await anyio.to_thread.run_sync(lambda: shutil.rmtree(place, ignore_errors=True))
    await git(top, "worktree", "remove", "--force", "--force", str(place))


async def _remove_stale_lock(place: Path) -> None:
    """A git that was killed leaves a lock; nobody else works in a worktree of ours."""
    lock = Path((await git(place, "rev-parse", "--git-path", "index.lock")).rstrip("\n"))
    (place / lock).unlink(missing_ok=True)


def branch_name(agent_id: str, task: str) -> str:
    """Return the branch of an agent's work on a task."""
    return f"aipm/{agent_id}/{_ODD.sub('-', task)}"


async def saved_state(root: Path) -> str:
    """Return a commit of everything that is in a working copy now, ignored files left out.

    Neither the index nor a branch nor a file of the working copy changes.
    """
    with tempfile.TemporaryDirectory(prefix="aipm-index-") as temporary:
        index = {"GIT_INDEX_FILE": str(Path(temporary) / "index")}
        await git(root, "read-tree", "HEAD", environment=index)
        await git(root, "add", "--all", "--", ".", environment=index)
        tree = (await git(root, "write-tree", environment=index)).strip()
    head = (await git(root, "rev-parse", "HEAD")).strip()
    if tree == (await git(root, "rev-parse", "HEAD^{tree}")).strip():
        return head
    return (await git(root, "commit-tree", tree, "-p", head, "-m", _SAVED)).strip()


async def save(root: Path, run_id: str) -> str:
    """Save a working copy under ``refs/aipm/run/<id>``; return the commit."""
    commit = await saved_state(root)
    await git(root, "update-ref", f"refs/aipm/run/{run_id}", commit)
    return commit


async def put_back(root: Path, run_id: str, base: str) -> None:
    """Make a working copy and its branch what they were at the base; keep what was there."""
    commit = await saved_state(root)
    await git(root, "update-ref", f"refs/aipm/undone/{run_id}", commit)
    await git(root, "reset", "--hard", base)
    await git(root, "clean", "-d", "--force")
    if (await git(root, "log", "-1", "--format=%s", base)).strip() == _SAVED:
        await git(root, "reset", "--mixed", f"{base}^")  # what was not committed is so again
