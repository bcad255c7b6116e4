"""Whether the clock can be trusted with deleting what is old.

A clock that jumps makes young things look old. So the store remembers where the clock was: a time
that goes on from there is trusted at once, any other only after it has run for a while.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace

from aipm_core import Clock, Migration, Store, Tx, iso

logger = logging.getLogger(__name__)
_HOUR, _DAY = 3600.0, 86_400.0
_LEAP = _DAY  # seconds the clock may gain or lose against the machine's own count
_ABSENCE = 14 * _DAY  # seconds nobody may have looked at the clock: holidays are longer
_PATIENCE = 3 * _DAY  # seconds a clock that jumped must run before it is believed
_KNOWN, _NEW = "known", "new"

MIGRATIONS = [
    Migration(
        name="0001_clock",
        sql="""
            create table clock_course (
                course text primary key check (course in ('known', 'new')),
                since double precision not null,
                seen double precision not null
            );
        """,
    )
]


@dataclass(frozen=True, slots=True)
class _Course:
    """A time that was running: when it began, and where it was last."""

    since: float
    seen: float


class TrustedTime:
    """Compares the clock with what the store and this process remember of it."""

    def __init__(self, store: Store, clock: Clock, steady: Clock) -> None:
        self._store = store
        self._clock = clock
        self._steady = steady
        self._last: tuple[float, float] | None = None  # clock and steady clock, when trusted

    async def trusted(self) -> float | None:
        """Return the present moment; ``None`` while it is not certain that it is the present."""
        now, count = self._clock(), self._steady()
        courses = await self._courses()
        known, new = courses.get(_KNOWN), courses.get(_NEW)
        if known is None or self._goes_on(known, now, count):
            await self._note(_Course(now, now) if known is None else replace(known, seen=now), None)
            self._last = now, count
            return now
        self._last = None
        if new is None or not _near(new, now):
            new = _Course(now, now)
            text = "the clock jumped from %s to %s: nothing old is deleted for %d days"
            logger.warning(text, iso(known.seen), iso(now), _PATIENCE / _DAY)
        new = replace(new, seen=now)
        believed = now - new.since >= _PATIENCE
        await self._note(*((new, None) if believed else (known, new)))
        return now if believed else None

    def _goes_on(self, known: _Course, now: float, count: float) -> bool:
        if self._last is None:
            return _near(known, now)
        gained = now - self._last[0] - (count - self._last[1])
        return -_LEAP <= gained <= _LEAP

    async def _courses(self) -> dict[str, _Course]:
        rows = await self._store.all("select course, since, seen from clock_course")
        return {row["course"]: _Course(row["since"], row["seen"]) for row in rows}

    async def _note(self, known: _Course, new: _Course | None) -> None:
        noted, wanted = await self._courses(), {_KNOWN: known, **({_NEW: new} if new else {})}
        if noted.keys() == wanted.keys() and not any(
            _differ(noted[name], course) for name, course in wanted.items()
        ):
            return

        async def unit(tx: Tx) -> None:
            await tx.run("delete from clock_course")
            for name, course in wanted.items():
                await tx.run(
                    "insert into clock_course (course, since, seen) values (?, ?, ?)",
                    *(name, course.since, course.seen),
                )

        await self._store.write(unit)


def _near(course: _Course, now: float) -> bool:
    """Return whether a time may be the same course, some hours or an absence later."""
    return -_LEAP <= now - course.seen <= _ABSENCE


def _differ(noted: _Course, course: _Course) -> bool:
    """Return whether a note is worth a write."""
    return noted.since != course.since or abs(noted.seen - course.seen) >= _HOUR
