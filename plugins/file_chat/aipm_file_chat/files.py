"""What is done to chat files. It may wait for a disk, so it never runs on the event loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from aipm_file_chat.lines import append
from aipm_file_chat.progress import Batch
from aipm_file_chat.safe_paths import ChatDirectories, ChatPath, Reason, UnsafePath

_sync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


def faults_of(places: Iterable[ChatPath]) -> dict[ChatPath, Reason | None]:
    """Say for each place why a chat file cannot be there; ``None`` if it can."""
    with ChatDirectories() as directories:
        return {place: _fault_of(directories, place) for place in places}


def _fault_of(directories: ChatDirectories, place: ChatPath) -> Reason | None:
    try:
        with directories.file(place):
            return None
    except UnsafePath as unsafe:
        return unsafe.reason


class TurnLost(OSError):
    """Somebody else may be writing by now."""


def append_all(batches: Iterable[Batch], lasts: Callable[[], bool]) -> None:
    """Add the lines of each batch to its file; a file that fails does not stop the others."""
    with ChatDirectories() as directories:
        for batch in batches:
            try:
                with directories.file(batch.place) as file:
                    _check_turn(lasts)
                    append(file, batch.lines, doubtful=batch.doubtful)
            except TurnLost:
                raise
            except (OSError, UnsafePath) as error:
                batch.error = str(error)


def _check_turn(lasts: Callable[[], bool]) -> None:
    if not lasts():
        raise TurnLost("the turn to write chat files is over")


def sync_all(places: Iterable[ChatPath]) -> None:
    """Make sure that what was appended survives the loss of power."""
    with ChatDirectories() as directories:
        for place in places:
            try:
                with directories.file(place, create=False) as file:
                    _sync(file)
            except UnsafePath:
                continue  # taken away by hand meanwhile: there is nothing left to sync
