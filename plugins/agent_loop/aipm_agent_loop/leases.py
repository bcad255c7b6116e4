"""Which process works on which session: one at a time, and a dead one is noticed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aipm_processes.api import LockFile, is_abandoned

from aipm_agent_loop.config import AgentLoopConfig
from aipm_core import PluginContext, Tx, new_id

LEASE_SECONDS = 20.0  # of silence after which a holder is dead; it beats every quarter of it
_CLAIMABLE = (
    "select t.session_id, t.owner, t.beat from agent_threads t where t.session_id in "
    "(select session_id from agent_inputs where status = 'queued' "
    "union select session_id from agent_runs where status = 'running') limit 500"
)


@dataclass(frozen=True, slots=True)
class Held:
    """A session with work, who holds it, and how often the holder has given a sign of life."""

    session_id: str
    owner: str
    beat: int


class Leases:
    """Sessions held by this process.

    A holder counts a number up. Who sees the same number for the time of a lease, by a clock of its
    own that nobody sets, may take over: what time it is elsewhere plays no part. On the same
    machine nobody has to wait: a holder keeps a file locked, and the lock goes with the process.
    """

    def __init__(
        self, ctx: PluginContext[AgentLoopConfig], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ctx = ctx
        self._clock = clock
        self._looked = 0.0
        self._since: dict[Held, float] = {}
        self.working: set[str] = set()  # sessions that somebody in this process works on
        self.owner = new_id("wrk")
        self._lock = LockFile(self._path(self.owner))

    def hold(self) -> None:
        """Be recognisable as alive from now on."""
        self._lock.hold()

    def drop(self) -> None:
        """Leave nothing behind."""
        self._lock.drop()

    async def claimable(self) -> list[Held]:
        """List sessions with work that nobody alive holds."""
        rows = await self._ctx.store.all(_CLAIMABLE)
        seen = [Held(row["session_id"], row["owner"] or "", row["beat"]) for row in rows]
        self._note(seen)
        return [held for held in seen if self._dead(held)]

    async def claim(self, tx: Tx, held: Held) -> bool:
        """Take a session from a dead holder, or from none; ``False`` if somebody was faster."""
        changed = await tx.run(
            "update agent_threads set owner = ?, beat = beat + 1 where session_id = ? "
            "and coalesce(owner, '') = ? and beat = ?",
            *(self.owner, held.session_id, held.owner, held.beat),
        )
        return changed == 1

    async def tidy(self) -> None:
        """Remove the locks of dead processes that hold nothing any more."""
        rows = await self._ctx.store.all("select owner from agent_threads where owner is not null")
        holders = {row["owner"] for row in rows}
        for path in self._ctx.data_dir.glob("wrk_*.lock"):
            if path.stem not in holders and is_abandoned(path):
                path.unlink(missing_ok=True)

    async def renew(self, tx: Tx) -> None:
        """Hold on to what this process works on; what it merely holds may be taken over."""
        sessions = sorted(self.working)
        places = ", ".join("?" for _ in sessions)
        await tx.run(
            "update agent_threads set beat = beat + 1 "
            f"where owner = ? and session_id in ({places})",
            *(self.owner, *sessions),
        )

    def _path(self, owner: str) -> Path:
        return self._ctx.data_dir / f"{owner}.lock"

    def _note(self, seen: list[Held]) -> None:
        """Remember since when each holder has been silent; who did not look does not know."""
        now = self._clock()
        if now - self._looked > LEASE_SECONDS / 2:
            self._since.clear()
        self._looked = now
        self._since = {held: self._since.get(held, now) for held in seen}

    def _dead(self, held: Held) -> bool:
        if held.owner in ("", self.owner):
            return not held.owner or held.session_id not in self.working
        path = self._path(held.owner)
        if path.exists():
            return is_abandoned(path)
        return self._clock() - self._since[held] >= LEASE_SECONDS
