"""What the thread that writes to SQLite is doing, read off its stack."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from types import FrameType

from aipm_store.writer import THREAD, SqliteTx, drive

WRITER_THREAD = THREAD
_SQL = {getattr(SqliteTx, name).__code__ for name in ("one", "all", "run")}


def unit_of(frames: Sequence[FrameType]) -> tuple[object, list[FrameType]]:
    """Return a transaction, and the frames of the unit that works in it.

    Nothing while SQLite is at work, or nobody: then no plugin holds up anything.
    """
    if not frames or frames[-1].f_code in _SQL:
        return None, []
    unit = list(dropwhile(lambda frame: frame.f_code is not drive.__code__, frames))
    return (unit[0].f_locals["transaction"], unit) if unit else (None, [])
