"""Entry points of installed distributions, and which of them are aipm's own. Imports no plugin."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points

DISTRIBUTION = "aipm-runtime"


@dataclass(frozen=True, slots=True)
class Point:
    """An entry point and the distribution it stands in."""

    entry_point: EntryPoint
    distribution: str
    version: str

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
    names: dict[int, tuple[str, str]] = {}
    found = [Point(point, *_told(point.dist, names)) for point in entry_points(group=group)]
    return sorted(found, key=lambda point: (point.name, not point.is_own, point.distribution))


def own_points(group: str) -> dict[str, EntryPoint]:
    """Return aipm's own entry points of a group."""
    return {point.name: point.entry_point for point in points_of(group) if point.is_own}


def _told(dist: Distribution | None, known: dict[int, tuple[str, str]]) -> tuple[str, str]:
    """Return name and version; each file of metadata is read once, for reading takes long."""
    if dist is None:
        return "?", "?"
    return known.get(id(dist)) or known.setdefault(id(dist), (dist.name, dist.version))
