"""The view ``activity``: the newest of what every plugin remembers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aipm_core import Json, Reader
from aipm_views.api import Activity, ActivitySource, Ids, Record

SHOWN = 200


async def recent_activity(
    sources: Sequence[ActivitySource], db: Reader, project_id: str, ids: Ids
) -> Iterable[Record]:
    """Return the newest of a project, whoever remembers it."""
    found: list[Activity] = []
    for source in sources:
        found += await source.recent(db, project_id, SHOWN)
    found.sort(key=lambda one: (one.at, one.id), reverse=True)
    return [Record(id=one.id, data=_shown(one)) for one in found[:SHOWN]]


def _shown(one: Activity) -> dict[str, Json]:
    return {
        "id": one.id,
        "at": one.at,
        "actor_id": one.actor_id,
        "verb": one.verb,
        "what": one.what,
        "ref": {"view": one.view, "id": one.ref} if one.ref else None,
        "from": one.before,
        "to": one.after,
    }
