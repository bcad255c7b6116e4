"""Which commands there are: aipm's own, and those of distributions somebody has switched on."""

from __future__ import annotations

import sys
from pathlib import Path

from aipm_cli.entry_points import Point, points_of
from aipm_cli.named_plugins import named_plugins

GROUP = "aipm.commands"
_PLUGINS = "aipm"


def commands_of(config: Path | None) -> dict[str, list[Point]]:
    """Return the commands by name, each with whoever has it, aipm before others."""
    points = points_of(GROUP)
    others = any(not point.is_own for point in points)
    on = _switched_on(config) if others else set[str]()
    found: dict[str, list[Point]] = {}
    for point in points:
        if point.is_own or point.distribution in on:
            found.setdefault(point.name, []).append(point)
    return found


def _switched_on(config: Path | None) -> set[str]:
    """Return the distributions of which a plugin is named in the settings."""
    tables = named_plugins(config)
    plugins = points_of(_PLUGINS)
    taken = {point.name for point in plugins if point.is_own}
    return {
        point.distribution
        for point in plugins
        if point.name in tables
        and point.name not in taken
        and tables[point.name].get("distribution", point.distribution) == point.distribution
    }


def chosen(points: list[Point]) -> Point:
    """Return whose command runs; where that is not clear, none does."""
    first, *others = points
    if first.is_own:
        for other in others:
            sys.stderr.write(
                f"aipm: the command {first.name!r} of {other.distribution} is not used: "
                "aipm has one of that name\n"
            )
        return first
    if others:
        from aipm_core import StartupError

        raise StartupError(
            f"the command {first.name!r} is in {first.distribution} and in "
            f"{others[0].distribution}; switch one of them off"
        )
    return first
