"""What a distribution says it needs of aipm, compared with the program that runs."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_cli.entry_points import DISTRIBUTION


def unmet(requirements: Iterable[str], version: str) -> str | None:
    """Return the first requirement on aipm that this version does not meet."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    for text in requirements:
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue  # the installer's business
        if canonicalize_name(wanted.name) != DISTRIBUTION:
            continue
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        if not wanted.specifier.contains(version, prereleases=True):
            return f"{wanted.name}{wanted.specifier}"
    return None
