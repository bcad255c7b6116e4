"""What a person sees of a project at one moment, and what came after a moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import orjson
from aipm_operations.api import REDACTION

from aipm_core import Json, PluginContext, Row
from aipm_views.config import ViewsConfig
from aipm_views.parts import Parts
from aipm_views.projector import Projector
from aipm_views.records import EVERYBODY, one_line

_PAGE = 200
# One statement is one moment: the cursor and the records belong together. The cursor is that of
# the last change this person has seen, so that whoever follows arrives at it.
_STATE = (
    "select coalesce((select c.seq from view_changes c where c.project_id = h.project_id "
    "and c.viewer in (?, ?) order by c.seq desc limit 1), h.base_seq) as place, "
    "r.view, r.id, r.record from view_heads h left join view_records r "
    "on r.project_id = h.project_id and r.viewer in (?, ?) where h.project_id = ?"
)
_CHANGES = (
    "select seq, view, id, record from view_changes where project_id = ? and seq > ? "
    "and viewer in (?, ?) order by seq limit ?"
)


@dataclass(frozen=True, slots=True)
class State:
    """Records by view and id, each as JSON that is written already, and the place they stand at."""

    cursor: int
    views: dict[str, dict[str, orjson.Fragment]]


@dataclass(frozen=True, slots=True)
class Page:
    """Some changes for one person, and the place behind them."""

    changes: list[Row]
    cursor: int


class StateReader:
    """Reads what is written down for a person; nobody else's records are in it."""

    def __init__(self, ctx: PluginContext[ViewsConfig], parts: Parts, projector: Projector) -> None:
        self._store = ctx.store
        self._services = ctx.services
        self._parts = parts
        self._projector = projector

    async def state(self, project_id: str, person_id: str) -> State:
        """Return everything a person sees now."""
        await self._projector.ready(project_id)
        viewers = (EVERYBODY, person_id)
        rows = await self._store.scan(_STATE, *viewers, *viewers, project_id)
        if not rows:  # nobody had looked for so long that nothing was kept
            await self._projector.restart(project_id)
            rows = await self._store.scan(_STATE, *viewers, *viewers, project_id)
        views: dict[str, dict[str, orjson.Fragment]] = {name: {} for name in self._parts.names}
        for row in rows:
            if row["view"] in views:
                views[row["view"]][row["id"]] = orjson.Fragment(
                    self._shown(row["record"]) or "null"
                )
        return State(int(rows[0]["place"]) if rows else 0, views)

    async def cursor(self, project_id: str) -> int:
        """Return the place of the newest change."""
        row = await self._store.one(
            "select last_seq from view_heads where project_id = ?", project_id
        )
        return int(row["last_seq"]) if row else 0

    async def knows(self, project_id: str, cursor: int) -> bool:
        """Return whether a place is one of this project and nothing behind it was forgotten."""
        row = await self._store.one(
            "select 1 from view_heads where project_id = ? and ? in (last_seq, base_seq) "
            "union all select 1 from view_changes where project_id = ? and seq = ?",
            *(project_id, cursor, project_id, cursor),
        )
        return row is not None

    async def changes(self, project_id: str, person_id: str, after: int) -> Page | None:
        """Return what changed for a person behind a place; ``None`` if nothing did."""
        newest = await self.cursor(project_id)
        if newest <= after:
            return None
        rows = await self._store.all(_CHANGES, project_id, after, EVERYBODY, person_id, _PAGE)
        # What was written between the two questions may be in the answer to the second.
        full = len(rows) == _PAGE
        last = int(rows[-1]["seq"]) if rows else 0
        return Page([self._row(row) for row in rows], last if full else max(newest, last))

    async def records(self, project_id: str, viewer: str, view: str) -> dict[str, dict[str, Json]]:
        """Return the records of one view that are for one viewer."""
        rows = await self._store.all(
            "select id, record from view_records where project_id = ? and viewer = ? and view = ?",
            *(project_id, viewer, view),
        )
        return {row["id"]: orjson.loads(self._shown(row["record"]) or "null") for row in rows}

    def _row(self, row: Row) -> Row:
        shown = self._shown(row["record"])
        if shown is row["record"]:
            return row
        hidden: Any = {name: row[name] for name in ("seq", "view", "id")} | {"record": shown}
        return cast("Row", hidden)

    def _shown(self, record: str | None) -> str | None:
        """Return a record as it may be shown."""
        redaction = self._services.find(REDACTION)
        if record is None or redaction is None or not redaction.active:
            return record
        return one_line(redaction.json(orjson.loads(record)))
