"""What other parts of the program may use of the store."""

from __future__ import annotations

from aipm_store.data_directory import filesystem_of
from aipm_store.engines import engine_for
from aipm_store.event_log import hide_in_events, with_log
from aipm_store.keeping import KeptEngine
from aipm_store.settings import StoreSettings
from aipm_store.writer_stack import WRITER_THREAD, unit_of

__all__ = [
    "WRITER_THREAD",
    "KeptEngine",
    "StoreSettings",
    "engine_for",
    "filesystem_of",
    "hide_in_events",
    "unit_of",
    "with_log",
]
