"""Which process works on which session: one at a time, and a dead one is noticed."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from aipm_agent_loop.config import AgentLoopConfig
from aipm_core import PluginContext, Tx, new_id

LEASE = 20.0  # seconds; renewed every quarter of it
_CLAIMABLE = (
    "select t.session_id, t.owner, t.lease_until from agent_threads t where t.session_id in "
    "(select session_id from agent_inputs where status = 'queued' "
    "union select session_id from agent_runs where status = 'running') limit 500"
)


class Leases:
    """Sessions held by this process.

    A lease runs out when its holder is gone. On the same machine nobody has to wait for that: a
    holder keeps a file locked, and the lock goes with the process.
    """

    def __init__(self, ctx: PluginContext[AgentLoopConfig]) -> None:
        self._ctx = ctx
        self._lock: int | None = None
        self.owner = new_id("wrk")

    def hold(self) -> None:
        """Be recognisable as alive from now on."""
        if self._lock is None:
            flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
            self._lock = os.open(self._path(self.owner), flags, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def drop(self) -> None:
        """Leave nothing behind."""
        if self._lock is not None:
            self._path(self.owner).unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None

    async def claimable(self) -> list[tuple[str, str]]:
        """List sessions with work that nobody alive holds, and who held them."""
        rows = await self._ctx.store.all(_CLAIMABLE)
        return [
            (row["session_id"], row["owner"] or "")
            for row in rows
            if row["owner"] is None or self._dead(row["owner"], row["lease_until"])
        ]

    async def claim(self, tx: Tx, session_id: str, holder: str) -> bool:
        """Take a session from a dead holder, or from none; ``False`` if somebody was faster."""
        changed = await tx.run(
            "update agent_threads set owner = ?, lease_until = ? where session_id = ? "
            "and coalesce(owner, '') = ?",
            *(self.owner, self._ctx.clock() + LEASE, session_id, holder),
        )
        return changed == 1

    async def tidy(self) -> None:
        """Remove the locks of dead processes that hold nothing any more."""
        rows = await self._ctx.store.all("select owner from agent_threads where owner is not null")
        holders = {row["owner"] for row in rows}
        for path in self._ctx.data_dir.glob("wrk_*.lock"):
            if path.stem not in holders and _unlocked(path):
                path.unlink(missing_ok=True)

    async def renew(self, tx: Tx) -> None:
        """Hold on to what this process holds."""
        await tx.run(
            "update agent_threads set lease_until = ? where owner = ?",
            *(self._ctx.clock() + LEASE, self.owner),
        )

    def _path(self, owner: str) -> Path:
        return self._ctx.data_dir / f"{owner}.lock"

    def _dead(self, owner: str, lease_until: float) -> bool:
        if owner == self.owner:
            return False
        return self._ctx.clock() >= lease_until or _unlocked(self._path(owner))


def _unlocked(path: Path) -> bool:
    """Say whether a lock file is there and nobody holds it; its holder has died."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(descriptor)
