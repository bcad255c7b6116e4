"""Reads the stack of a thread: whose code runs there, and for which record."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from types import FrameType

_KERNEL = "aipm_core"
# The frame that knows which plugin was asked for which record: locals `plugin` and `record`.
_ASKING = ("aipm_core.pipeline.call", "_ask")
_LOOPS = ("asyncio", "selectors", "uvloop", "concurrent")


@dataclass(frozen=True, slots=True, kw_only=True)
class Culprit:
    """Who is at work: a plugin, what it was asked for, the line it is at, and how it got there."""

    plugin: str
    record: str
    line: str
    stack: str


def frames_of(innermost: FrameType | None) -> list[FrameType]:
    """Return a thread's frames, the outermost first."""
    found: list[FrameType] = []
    while innermost is not None:
        found.append(innermost)
        innermost = innermost.f_back
    return found[::-1]


def called_by_loop(frames: Sequence[FrameType]) -> list[FrameType]:
    """Return what the event loop is running; nothing while it waits."""
    loop = dropwhile(lambda frame: _package(frame) not in _LOOPS, frames)
    return list(dropwhile(lambda frame: _package(frame) in _LOOPS, loop))


class Owners:
    """Knows which plugin a frame belongs to: by its package, as the plugin's own class says it."""

    def __init__(self, packages: Mapping[str, str]) -> None:
        self._packages = {name: plugin for name, plugin in packages.items() if name != _KERNEL}

    def culprit(self, frames: Sequence[FrameType]) -> Culprit:
        """Name whose code this is: whom the pipeline asked, else the innermost plugin."""
        owned = [frame for frame in frames if _package(frame) in self._packages]
        asked = [frame for frame in frames if _asks_plugin(frame)]
        inner, outer = (owned[-1], owned[0]) if owned else (frames[-1], frames[0])
        plugin, record = self._packages.get(_package(inner), _KERNEL), outer.f_code.co_qualname
        if asked:
            names = asked[-1].f_locals
            plugin, record = str(names["plugin"]), str(names["record"].name)
        return Culprit(
            plugin=plugin,
            record=record,
            line=f"{inner.f_code.co_filename}:{inner.f_lineno}",
            stack="".join(traceback.format_list(traceback.extract_stack(frames[-1]))),
        )


def _asks_plugin(frame: FrameType) -> bool:
    """Return whether the pipeline is awaiting a plugin's function here."""
    asking = frame.f_code.co_name == _ASKING[1]
    return asking and frame.f_globals.get("__name__") == _ASKING[0]


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
