"""Which runner holds which run, and which runners have died."""

from __future__ import annotations

from pathlib import Path

from aipm_processes.api import LockFile, is_abandoned

from aipm_core import PluginContext, Tx, new_id
from aipm_runner.config import RunnerConfig
from aipm_runner.runs import Run

LEASE_SECONDS = 8.0
UNHEARD_SECONDS = 6.0
"""How long a runner on another machine may be silent until its runs do not count as running."""
LOST_SECONDS = 30.0
"""How long a runner on another machine may be cut off until its runs are given to others."""
BEAT_SECONDS = 2.0


class RunLeases:
    """The runs of this process.

    A holder counts a number up. Who sees the same number for the time of a lease, by a clock of its
    own that nobody sets, may take the run for lost. On the same machine nobody has to wait: a
    holder keeps a file locked, and the lock goes with the process.
    """

    def __init__(self, ctx: PluginContext[RunnerConfig]) -> None:
        self._ctx = ctx
        self.owner = new_id("rnr")
        self._lock = LockFile(self._path(self.owner))
        self._looked = 0.0
        self._since: dict[tuple[str, str, int], float] = {}

    def hold(self) -> None:
        """Be recognisable as alive from now on."""
        self._lock.hold()

    def drop(self) -> None:
        """Leave nothing behind."""
        self._lock.drop()

    async def renew(self, tx: Tx) -> None:
        """Hold on to what this process holds."""
        await tx.run(
            "update runs set beat = beat + 1 where owner = ? and ended_at is null", self.owner
        )

    def lost(self, alive: list[Run]) -> list[Run]:
        """Return the runs whose holder has died, of those that have not ended."""
        now = self._ctx.steady()
        if now - self._looked > LEASE_SECONDS / 2:
            self._since.clear()  # who did not look does not know
        self._looked = now
        seen = [(run.id, run.owner, run.beat) for run in alive]
        self._since = {beat: self._since.get(beat, now) for beat in seen}
        return [run for run, beat in zip(alive, seen, strict=True) if self._dead(run, beat)]

    def tidy(self, alive: list[Run]) -> None:
        """Remove the locks of dead runners that hold nothing any more."""
        holders = {run.owner for run in alive}
        for path in self._ctx.data_dir.glob("rnr_*.lock"):
            if path.stem not in holders and is_abandoned(path):
                path.unlink(missing_ok=True)

    def _dead(self, run: Run, beat: tuple[str, str, int]) -> bool:
        if run.owner == self.owner:
            return False
        path = self._path(run.owner)
        if path.exists():
            return is_abandoned(path)
        lease = LEASE_SECONDS if run.machine is None else LOST_SECONDS
        return self._ctx.steady() - self._since[beat] >= lease

    def unheard(self, alive: list[Run]) -> list[Run]:
        """Return the runs whose runner on another machine has not been heard."""
        now = self._ctx.steady()
        return [
            run
            for run in alive
            if run.machine is not None
            and now - self._since.get((run.id, run.owner, run.beat), now) >= UNHEARD_SECONDS
        ]

    def is_dead(self, owner: str) -> bool:
        """Return whether an owner of this machine has died."""
        path = self._path(owner)
        return owner != self.owner and (not path.exists() or is_abandoned(path))

    def _path(self, owner: str) -> Path:
        return self._ctx.data_dir / f"{owner}.lock"
