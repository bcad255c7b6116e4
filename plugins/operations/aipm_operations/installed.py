"""What the program around the plugins can tell about them: installed, on, off, or failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from aipm_core import ServiceKey

PluginState: TypeAlias = Literal["on", "off", "failed"]
Why: TypeAlias = Literal["own", "named", "unnamed", "settings", "other"]
"""Part of aipm; named in the settings; not named there; switched there by ``enabled``; not used
because another distribution has a plugin of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledPlugin:
    """One installed plugin. ``requires`` and the others name plugins, not services."""

    name: str
    distribution: str
    version: str
    first_party: bool
    state: PluginState
    why: Why
    problem: str | None = None
    """Why one that is wanted does not run."""
    summary: Mapping[str, str]
    """What it is for, by language; nothing of what is off and not aipm's own is imported."""
    tools: tuple[str, ...] = ()
    people_tools: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    required_by: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()


class Installed(Protocol):
    """The plugins of this installation; provided by the program, not by a plugin."""

    def plugins(self) -> list[InstalledPlugin]:
        """List every installed plugin by name."""
        ...


INSTALLED = ServiceKey[Installed]("operations.installed")
