"""Which topics were woken and not looked into yet, written down with the changes themselves."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache

from aipm_core import Reader, Tx
from aipm_views.parts import Parts

MARKED = "view_marks"
"""The topic that tells that something was marked."""
_PAGE = 500
_AT_ONCE = 200  # marks in one statement


@dataclass(frozen=True, slots=True)
class Page:
    """Some marks, and the number of the last of them."""

    topics: frozenset[str]
    last: int


class Marks:
    """Adds a mark to every transaction that wakes a topic of a view."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def note(self, tx: Tx, topics: AbstractSet[str]) -> None:
        """Mark the topics that some view hears."""
        words, marked = self._parts.words, 0
        heard = [topic for topic in topics if topic.partition(":")[0] in words]
        for start in range(0, len(heard), _AT_ONCE):
            some = heard[start : start + _AT_ONCE]
            marked += await tx.run(_insertion(len(some)), *some)
        if marked:
            tx.wake(MARKED)

    async def last(self, db: Reader) -> int:
        """Return the number of the newest mark; 0 if there is none."""
        row = await db.one("select coalesce(max(n), 0) as last from view_marks")
        return int(row["last"]) if row else 0

    async def page(self, db: Reader, until: int) -> Page | None:
        """Return the oldest marks up to a number."""
        rows = await db.all(
            "select n, topic from view_marks where n <= ? order by n limit ?", until, _PAGE
        )
        if not rows:
            return None
        return Page(frozenset(row["topic"] for row in rows), int(rows[-1]["n"]))

    async def remove(self, tx: Tx, last: int) -> None:
        """Forget the marks up to one: what they tell of is written down."""
        await tx.run("delete from view_marks where n <= ?", last)


@cache
def _insertion(count: int) -> str:
    """Return the statement for so many marks; where nobody has ever looked, nothing is written."""
    values = ", ".join("(cast(? as text))" for _ in range(count))
    return (
        f"insert into view_marks (topic) select column1 from (values {values}) as given "
        "where exists (select 1 from view_heads)"
    )
