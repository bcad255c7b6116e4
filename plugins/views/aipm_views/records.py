"""The records as they stand, and the log of how they came to be so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import orjson

from aipm_core import Clock, Reader, Row, Tx
from aipm_views.api import Ids, Record
from aipm_views.parts import Part

EVERYBODY = ""
"""The viewer of what every member sees; nobody has this id."""
Texts: TypeAlias = Mapping[tuple[str, str], str]
"""Records as text, by id and viewer."""
_LINE_ENDS = [(c.encode(), b"\\u%04x" % ord(c)) for c in "\x85\u2028\u2029"]
_MOST_IDS = 500


class Overtaken(Exception):
    """Somebody else has written records since they were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One record is another than before for one viewer, or gone."""

    part: Part
    id: str
    viewer: str
    text: str | None


def texts_of(records: Iterable[Record]) -> Texts:
    """Return records as they are stored: one line of JSON each, for one viewer each."""
    return {
        (record.id, viewer): one_line(record.data)
        for record in records
        if record.data is not None
        for viewer in (record.viewers if record.viewers is not None else (EVERYBODY,))
    }


def one_line(value: object) -> str:
    """Write JSON on one line; some readers of event streams take other characters for its end."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    for character, escaped in _LINE_ENDS:
        text = text.replace(character, escaped)
    return text.decode()


def changes_between(part: Part, before: Texts, after: Texts) -> list[Change]:
    """Return what leads from some records to others."""
    gone = [Change(part=part, id=i, viewer=v, text=None) for i, v in before if (i, v) not in after]
    new = [
        Change(part=part, id=i, viewer=v, text=text)
        for (i, v), text in after.items()
        if before.get((i, v)) != text
    ]
    return gone + new


class Records:
    """Reads and writes ``view_records``, ``view_changes`` and ``view_heads``."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def begin(self, tx: Tx, project_id: str) -> bool:
        """Start to keep the records of a project; ``False`` if they are kept already."""
        now = self._clock()
        made = await tx.run(
            "insert into view_heads (project_id, last_seq, base_seq, asked_at) "
            "values (?, ?, ?, ?) on conflict (project_id) do nothing",
            *(project_id, int(now * 1000), int(now * 1000), now),
        )
        await tx.run("update view_heads set asked_at = ? where project_id = ?", now, project_id)
        return bool(made)

    async def heads(self, db: Reader) -> dict[str, int]:
        """Return the projects whose records are kept, and the number of each one's last change."""
        rows = await db.all("select project_id, last_seq from view_heads")
        return {row["project_id"]: int(row["last_seq"]) for row in rows}

    async def stored(self, db: Reader, project_id: str, part: Part, ids: Ids) -> Texts:
        """Return the records of a part as they stand."""
        sql = (
            "select id, viewer, record from view_records "
            "where project_id = ? and view = ? and part = ?"
        )
        known = (project_id, part.view, part.name)
        if ids is None:
            return _texts(await db.all(sql, *known))
        found: dict[tuple[str, str], str] = {}
        for some in _chunks(sorted(ids)):
            places = ", ".join("?" for _ in some)
            found |= _texts(await db.all(f"{sql} and id in ({places})", *known, *some))
        return found

    async def write(
        self, tx: Tx, project_id: str, changes: Sequence[Change], after: int, *, logged: bool
    ) -> int:
        """Make the changes that lead on from number ``after``; return the number of the last.

        Who was stopped in the middle of a turn may still write, so it is looked at here whether
        the records are those that were compared: if not, ``Overtaken``, and nothing is written.
        Numbers are milliseconds, or one more than the last where there are more of them: so a
        cursor of a store that was put back to an earlier day is not taken for one of ours. Nobody
        has a cursor yet that would lead through changes that are not ``logged``.
        """
        head = await tx.one("select last_seq from view_heads where project_id = ?", project_id)
        if head is None or int(head["last_seq"]) != after:
            raise Overtaken(project_id)
        first = max(int(head["last_seq"]) + 1, int(self._clock() * 1000))
        for seq, change in enumerate(changes, first):
            await self._put(tx, project_id, change)
            if logged:
                await tx.run(
                    "insert into view_changes (project_id, seq, view, id, viewer, record) "
                    "values (?, ?, ?, ?, ?, ?)",
                    *(project_id, seq, change.part.view, change.id, change.viewer, change.text),
                )
        last = first + len(changes) - 1
        await tx.run("update view_heads set last_seq = ? where project_id = ?", last, project_id)
        if not logged:
            await self._rebase(tx, project_id)
        tx.wake(changed_topic(project_id))
        return last

    async def _rebase(self, tx: Tx, project_id: str) -> None:
        """Let changes begin where the records stand now."""
        await tx.run("update view_heads set base_seq = last_seq where project_id = ?", project_id)

    async def _put(self, tx: Tx, project_id: str, change: Change) -> None:
        key = (project_id, change.viewer, change.part.view, change.id)
        if change.text is None:
            await tx.run(
                "delete from view_records where project_id = ? and viewer = ? and view = ? "
                "and id = ?",
                *key,
            )
            return
        await tx.run(
            "insert into view_records (project_id, viewer, view, id, part, record) "
            "values (?, ?, ?, ?, ?, ?) on conflict (project_id, viewer, view, id) "
            "do update set part = excluded.part, record = excluded.record",
            *(*key, change.part.name, change.text),
        )

    async def drop_foreign(self, tx: Tx, project_id: str, parts: Sequence[Part]) -> None:
        """Forget records of views that are no longer given; whoever shows them starts anew."""
        known = {(part.view, part.name) for part in parts}
        rows = await tx.all(
            "select distinct view, part from view_records where project_id = ?", project_id
        )
        foreign = [(row["view"], row["part"]) for row in rows]
        for view, part in foreign:
            if (view, part) not in known:
                await self._drop(tx, project_id, view, part)

    async def _drop(self, tx: Tx, project_id: str, view: str, part: str) -> None:
        await tx.run(
            "delete from view_records where project_id = ? and view = ? and part = ?",
            *(project_id, view, part),
        )
        await tx.run("delete from view_changes where project_id = ?", project_id)
        await tx.run(
            "update view_heads set last_seq = last_seq + 1 where project_id = ?", project_id
        )
        await self._rebase(tx, project_id)
        tx.wake(changed_topic(project_id))


def changed_topic(project_id: str) -> str:
    """Name what is woken when a record of a project changes."""
    return f"views:{project_id}"


def _texts(rows: Iterable[Row]) -> dict[tuple[str, str], str]:
    return {(row["id"], row["viewer"]): row["record"] for row in rows}


def _chunks(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    return (ids[start : start + _MOST_IDS] for start in range(0, len(ids), _MOST_IDS))
