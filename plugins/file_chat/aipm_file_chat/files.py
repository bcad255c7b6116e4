"""What is done to chat files. It may wait for a disk, so it never runs on the event loop."""

from __future__ import annotations

import os
from collections.abc import Iterable

from aipm_file_chat.lines import append
from aipm_file_chat.places import Place, Reason, Rooms, UnsafePlace
from aipm_file_chat.progress import Batch

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


def faults_of(places: Iterable[Place]) -> dict[Place, Reason | None]:
    """Say for each place why a chat file cannot be there; ``None`` if it can."""
    with Rooms() as rooms:
        return {place: _fault_of(rooms, place) for place in places}


def _fault_of(rooms: Rooms, place: Place) -> Reason | None:
    try:
        with rooms.file(place):
            return None
    except UnsafePlace as unsafe:
        return unsafe.reason


def append_all(batches: Iterable[Batch]) -> None:
    """Add the lines of each batch to its file; a file that fails does not stop the others."""
    with Rooms() as rooms:
        for batch in batches:
            try:
                with rooms.file(batch.place) as file:
                    append(file, batch.lines, doubtful=batch.doubtful)
            except (OSError, UnsafePlace) as error:
                batch.error = str(error)


def sync_all(places: Iterable[Place]) -> None:
    """Make sure that what was appended survives the loss of power."""
    with Rooms() as rooms:
        for place in places:
            try:
                with rooms.file(place, create=False) as file:
                    _sync(file)
            except UnsafePlace:
                continue  # taken away by hand meanwhile: there is nothing left to sync
