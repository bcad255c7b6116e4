"""What a soak shows, as numbers and as verdicts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.soak.running import Soak, Stretch

MOST_GROWTH = 0.05
LARGEST_LOG = 16 << 20
ROOM_PER_ROUND, ROOM_PER_TURN = 64 << 10, 8 << 10  # bytes of what is kept for good
_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Report:
    """Numbers of one soak, ready to be printed, and what is wrong with them."""

    numbers: dict[str, Any]
    wrong: list[str]

    def text(self) -> str:
        """Return it for people."""
        lines = [f"{name:32} {value}" for name, value in self.numbers.items()]
        return "\n".join([*lines, *(f"WRONG: {what}" for what in self.wrong)])

    def json(self) -> str:
        """Return it for machines."""
        return json.dumps({**self.numbers, "wrong": self.wrong}, indent=2, ensure_ascii=False)


def reported(soak: Soak, *, long: bool = True) -> Report:
    """Judge a soak; memory and threads settle in minutes, so a short one says nothing of them."""
    numbers = _numbers(soak)
    return Report(numbers, list(_wrong(soak, numbers, long=long)))


def _numbers(soak: Soak) -> dict[str, Any]:
    tally, stretches = soak.place.tally, soak.stretches
    return {
        "minutes": round((stretches[-1].ended - stretches[0].began) / 60, 2),
        "agents": 2 * soak.plan.pairs,
        "people": len(soak.people.talkers),
        "calls": tally.calls,
        "rounds of pairs": tally.cycles,
        "events received and checked": soak.events,
        "turns of people": sum(one.turns for one in soak.people.talkers),
        "errors provoked": dict(tally.provoked),
        "errors not provoked": len(tally.complaints),
        "RSS empty, MB": [_mb(one.idle.rss) for one in stretches],
        "RSS empty, growth": f"{_grown_empty(soak):+.1%}",
        "RSS at work, MB": [_mb(_at_work(soak, one)) for one in stretches],
        "RSS at work, growth": f"{_grown_at_work(soak):+.1%}",
        "descriptors empty": [soak.empty.descriptors, *_each(soak, "descriptors")],
        "threads empty": [soak.empty.threads, *_each(soak, "threads")],
        "threads at work, most": [_most_threads(soak, one) for one in stretches],
        "database, MB": [_mb(one.idle.database) for one in stretches],
        "database, grown of allowed": f"{_database_growth(soak):.0%}",
        "largest WAL, MB": _mb(max(one.log for one in soak.gauge.seen)),
    }


def _wrong(soak: Soak, numbers: dict[str, Any], *, long: bool) -> Iterator[str]:
    warm, last = soak.stretches[0], soak.stretches[-1]
    yield from soak.place.tally.complaints[:20]
    if soak.server_log:
        yield f"the server complained: {soak.server_log[-2000:]}"
    if last.idle.descriptors > warm.idle.descriptors:
        yield f"descriptors grew: {numbers['descriptors empty']}"
    if max(one.log for one in soak.gauge.seen) > LARGEST_LOG:
        yield f"the log of the database grew to {numbers['largest WAL, MB']} MB"
    if long and max(_grown_empty(soak), _grown_at_work(soak)) >= MOST_GROWTH:
        yield "memory grew"
    if long and _most_threads(soak, last) > _most_threads(soak, warm):
        yield f"threads grew: {numbers['threads at work, most']}"
    if long and _database_growth(soak) > 1:
        yield "the database grew more than what is kept explains"


def _grown_empty(soak: Soak) -> float:
    """Compare the empty server after the warm-up with the empty server in the end."""
    return soak.stretches[-1].idle.rss / soak.stretches[0].idle.rss - 1


def _grown_at_work(soak: Soak) -> float:
    """Compare the median while everybody works: first stretch after the warm-up, last stretch."""
    first = soak.stretches[min(1, len(soak.stretches) - 1)]
    return _at_work(soak, soak.stretches[-1]) / _at_work(soak, first) - 1


def _database_growth(soak: Soak) -> float:
    """Compare what the database grew by with the messages, tasks and turns that it has to keep."""
    first, last = soak.stretches[0], soak.stretches[-1]
    allowed = (last.rounds - first.rounds) * ROOM_PER_ROUND
    allowed += (last.turns - first.turns) * ROOM_PER_TURN
    return (last.idle.database - first.idle.database) / max(1, allowed)


def _most_threads(soak: Soak, stretch: Stretch) -> int:
    return max(one.threads for one in soak.gauge.during(stretch.began, stretch.ended))


def _each(soak: Soak, what: str) -> list[int]:
    return [getattr(one.idle, what) for one in soak.stretches]


def _at_work(soak: Soak, stretch: Stretch) -> int:
    return round(median(one.rss for one in soak.gauge.during(stretch.began, stretch.ended)))


def _mb(size: int) -> float:
    return round(size / _MEGABYTE, 1)
