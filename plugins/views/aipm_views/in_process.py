"""The views for code in the same process: the ``ProjectViews`` service."""

from __future__ import annotations

import orjson

from aipm_core import Json, PluginContext
from aipm_views.api import Snapshot, ViewChange
from aipm_views.config import ViewsConfig
from aipm_views.parts import Parts
from aipm_views.projector import Projector
from aipm_views.records import EVERYBODY, texts_of
from aipm_views.state import StateReader


class InProcessViews:
    """Reads what the routes read, as values."""

    def __init__(
        self,
        ctx: PluginContext[ViewsConfig],
        parts: Parts,
        projector: Projector,
        reader: StateReader,
    ) -> None:
        self._store = ctx.store
        self._parts = parts
        self._projector = projector
        self._reader = reader

    async def snapshot(self, project_id: str, person_id: str) -> Snapshot:
        """Return everything a person sees now."""
        state = await self._reader.state(project_id, person_id)
        return Snapshot(str(state.cursor), orjson.loads(orjson.dumps(state.views)))

    async def changes_after(
        self, project_id: str, person_id: str, cursor: str
    ) -> list[ViewChange] | None:
        """Return what came after a cursor; ``None`` if it is not known any more."""
        await self._projector.ready(project_id)
        found: list[ViewChange] = []
        place, start = int(cursor), int(cursor)
        while page := await self._reader.changes(project_id, person_id, place):
            found += [
                ViewChange(str(row["seq"]), row["view"], row["id"], _value(row["record"]))
                for row in page.changes
            ]
            place = page.cursor
        return found if await self._reader.knows(project_id, start) else None

    async def read_anew(self, project_id: str, person_id: str) -> dict[str, dict[str, Json]]:
        """Return what the views say now without anything that was kept."""
        views: dict[str, dict[str, Json]] = {name: {} for name in self._parts.names}
        for part in self._parts.all:
            texts = texts_of(await part.read(self._store, project_id, None))
            for (record_id, viewer), text in texts.items():
                if viewer in (EVERYBODY, person_id):
                    views[part.view][record_id] = orjson.loads(text)
        return views


def _value(text: str | None) -> Json:
    return None if text is None else orjson.loads(text)
