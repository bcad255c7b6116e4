"""The runs that live in this process."""

from __future__ import annotations

import asyncio

from aipm_runner.life import RunLife
from aipm_runner.run_records import Assignment, RunRecords


class Lives:
    """Begins runs, counts them, and stops them all."""

    def __init__(self, life: RunLife) -> None:
        self._life = life
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.changed = asyncio.Event()
        """Set whenever a run has ended here."""
        self.begun = asyncio.Event()
        """Set while any run lives here."""

    def __len__(self) -> int:
        """Return how many runs live here."""
        return len(self._tasks)

    @property
    def ids(self) -> list[str]:
        """The runs that live here."""
        return list(self._tasks)

    def begin(self, given: Assignment, records: RunRecords, mcp_url: str) -> None:
        """Let a run live; one that lives already goes on."""
        run_id = given.run.id
        if run_id in self._tasks:
            return
        task = asyncio.create_task(self._life.carry(given, records, mcp_url), name=f"run {run_id}")
        self._tasks[run_id] = task
        self.begun.set()
        task.add_done_callback(lambda _: self._over(run_id))

    def _over(self, run_id: str) -> None:
        self._tasks.pop(run_id, None)
        self.changed.set()
        if not self._tasks:
            self.begun.clear()

    async def stop_all(self) -> None:
        """Stop every run, and wait until each has been written down as ended."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
