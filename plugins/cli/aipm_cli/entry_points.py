"""Entry points of installed distributions, and which of them are aipm's own. Imports no plugin."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distribution, entry_points

DISTRIBUTION = "aipm-runtime"


@dataclass(frozen=True, slots=True)
class Point:
    """An entry point and the distribution it stands in."""

    entry_point: EntryPoint
    distribution: str

    @property
    def name(self) -> str:
        """The name on the left of the entry point."""
        return self.entry_point.name

    @property
    def is_own(self) -> bool:
        """Whether aipm itself ships it."""
        return self.distribution == DISTRIBUTION


def points_of(group: str) -> list[Point]:
    """Return the entry points of a group by name, aipm's own before others of that name."""
    names: dict[int, str] = {}
    found = [Point(point, _owner(point.dist, names)) for point in entry_points(group=group)]
    return sorted(found, key=lambda point: (point.name, not point.is_own, point.distribution))


def own_points(group: str) -> dict[str, EntryPoint]:
    """Return aipm's own entry points of a group."""
    own = distribution(DISTRIBUTION).entry_points.select(group=group)
    return {point.name: point for point in own}


def _owner(dist: Distribution | None, known: dict[int, str]) -> str:
    """Return a distribution's name: one line of a file that takes long to understand as a whole."""
    if dist is None:
        return "?"
    if id(dist) not in known:
        line = re.search(r"^Name: *(\S+)", dist.read_text("METADATA") or "", re.MULTILINE)
        known[id(dist)] = line[1] if line else dist.name
    return known[id(dist)]
