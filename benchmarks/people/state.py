"""The state of a large project: it costs what is shown, not what is stored."""

import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.people.house import House, line

SHOWN = 200


def run(*, stored: int, samples: int) -> None:
    """Ask for the state of three projects in turns."""
    with tempfile.TemporaryDirectory() as place:
        small = House.make(Path(place) / "small", {"todo": SHOWN, "done": SHOWN})
        old = House.make(Path(place) / "old", {"todo": SHOWN, "done": stored})
        wide = House.make(Path(place) / "wide", {"todo": stored})
        few, long, all_of = (_took(house, samples) for house in (small, old, wide))
    line(f"state, {SHOWN} tasks to do and {SHOWN} done", few, "ms")
    line(f"state, {SHOWN} tasks to do and {stored:,} done", long, "ms")
    line("  stored beside shown", long / few, "×", "about 1")
    line(f"state, {stored:,} tasks to do", all_of, "ms", "≤ 50")


def _took(house: House, samples: int) -> float:
    times = []
    with house.install.up() as server, house.http(server) as http:
        for _ in range(samples + 1):
            begun = time.perf_counter()
            http.get("/projects/p/state").raise_for_status()
            times.append((time.perf_counter() - begun) * 1000)
    return median(times[1:])  # the first one compares everything
