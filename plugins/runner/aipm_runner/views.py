"""What people see of runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aipm_views.api import Ids, Record, View

from aipm_core import Reader, Row
from aipm_runner.runs import RUNS_CHANGED, run_of
from aipm_runner.service import RunService

SHOWN_ENDED = 100
"""How many runs that have ended are shown: those that were started last."""
_RUNS = "select * from runs where project_id = ?"
_ALIVE = f"{_RUNS} and ended_at is null"
_ENDED = f"{_RUNS} and ended_at is not null order by number desc limit ?"
_LAST_SHOWN = (
    "select number from runs where project_id = ? and ended_at is not null "
    "order by number desc limit 1 offset ?"
)


class RunView:
    """The view ``runs``: those under way, and the newest of those that have ended."""

    def __init__(self, service: RunService) -> None:
        self._service = service

    def view(self) -> View:
        """Return it."""
        topics = (RUNS_CHANGED, "run:{id}", "forgotten:runs")
        return View(name="runs", topics=topics, read=self.read)

    async def read(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        """Return the records of these runs, or of all that are shown.

        A run that begins or ends moves the edge of what is shown; then all are read.
        """
        if ids is None:
            rows = await db.all(_ALIVE, project_id)
            rows += await db.all(_ENDED, project_id, SHOWN_ENDED)
        else:
            rows = await self._some(db, project_id, sorted(ids))
        return [Record(id=row["id"], data=self._service.shown(run_of(row))) for row in rows]

    async def _some(self, db: Reader, project_id: str, ids: Sequence[str]) -> list[Row]:
        last = await db.one(_LAST_SHOWN, project_id, SHOWN_ENDED - 1)
        edge = last["number"] if last else 0
        places = ", ".join("?" for _ in ids)
        rows = await db.all(f"{_RUNS} and id in ({places})", project_id, *ids)
        return [row for row in rows if row["ended_at"] is None or row["number"] >= edge]
