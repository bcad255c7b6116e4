"""Plain ``git``, without its hooks, prompts and pagers."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE  # programs are started without a shell  # nosec B404

import anyio.to_thread

_CALM = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSH_AUTH_SOCK")
_AUTHOR = {
    "GIT_AUTHOR_NAME": "aipm",
    "GIT_AUTHOR_EMAIL": "aipm@localhost",
    "GIT_COMMITTER_NAME": "aipm",
    "GIT_COMMITTER_EMAIL": "aipm@localhost",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}


class GitFailed(Exception):
    """Git refused; the text is the last line it wrote, ``output`` what it answered before."""

    def __init__(self, text: str, output: str = "") -> None:
        super().__init__(text)
        self.output = output


async def git(
    place: Path,
    *words: str,
    environment: Mapping[str, str] | None = None,
    holds: tuple[int, ...] = (),
) -> str:
    """Run a command of git in a directory; return what it wrote, or raise ``GitFailed``.

    ``holds`` are locks that last as long as git does, though whoever started it is killed.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    try:
        process = await asyncio.create_subprocess_exec(
            *("git", *_CALM, "-C", str(place), *words),
            env={**kept, **_AUTHOR, **(environment or {})},
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            pass_fds=holds,
        )
    except OSError as error:
        raise GitFailed(f"git cannot be run: {error.strerror}") from error
    out, errors = await process.communicate()
    if process.returncode:
        lines = errors.decode(errors="replace").strip().splitlines()
        told = lines[-1] if lines else f"git {words[0]} ended with {process.returncode}"
        raise GitFailed(told, out.decode(errors="replace"))
    return out.decode(errors="replace")


async def succeeds(place: Path, *words: str) -> bool:
    """Return whether a command of git ends well."""
    try:
        await git(place, *words)
    except GitFailed:
        return False
    return True


@asynccontextmanager
async def held_lock(path: Path) -> AsyncGenerator[int]:
    """Be the only one, of all processes, inside the block; what is started there may hold it too.

    Nobody is kept waiting by the dead: the lock goes with the last process that holds it.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        await anyio.to_thread.run_sync(
            fcntl.flock, descriptor, fcntl.LOCK_EX, abandon_on_cancel=True
        )
        yield descriptor
    finally:
        os.close(descriptor)
