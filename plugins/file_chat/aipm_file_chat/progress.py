"""What this process knows about which lines stand in which files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from aipm_file_chat.api import Message
from aipm_file_chat.lines import Line, line_of, owners_of
from aipm_file_chat.safe_paths import ChatPath


@dataclass(slots=True)
class Batch:
    """Lines to add to one file; ``doubtful`` when some may already be there."""

    place: ChatPath
    lines: list[Line] = field(default_factory=list[Line])
    doubtful: bool = False
    error: str | None = None


class WriteProgress:
    """Kept in memory only: whoever has lost it looks into the files instead."""

    def __init__(self, retry_seconds: float) -> None:
        self._retry_seconds = retry_seconds
        self.forget()

    def forget(self) -> None:
        """Know nothing any more: every line still in the outbox may or may not be in its file."""
        self.cursor = 0
        self.written: set[int] = set()
        self.unsynced: set[ChatPath] = set()
        self._lacking: dict[int, set[str]] = {}
        self._late: dict[ChatPath, float] = {}
        self._doubtful = True

    def begin(self, now: float) -> None:
        """Start a round; a file that failed before is tried again when its time has come."""
        # A time farther away than one pause was noted before the clock was put back.
        soon = now + self._retry_seconds
        self._retry = {place for place, at in self._late.items() if not now < at <= soon}
        if self._retry:
            self.cursor = 0

    def batches(
        self, messages: Iterable[Message], directories: Mapping[str, str | None]
    ) -> list[Batch]:
        """Sort a page of the outbox by file, without what is written or has to wait."""
        batches: dict[ChatPath, Batch] = {}
        for message in messages:
            self.cursor = message.seq
            if message.seq in self.written:
                continue
            lacking = self._lacking.setdefault(message.seq, set(owners_of(message)))
            if (directory := directories[message.project_id]) is None:
                continue  # the project has lost its directory: the line waits in the outbox
            for owner in owners_of(message):
                place = ChatPath(directory, owner)
                if owner in lacking and not self._waits(place):
                    batch = batches.setdefault(place, Batch(place))
                    batch.lines.append(line_of(message, owner))
                    batch.doubtful = self._doubtful or place in self._retry
        return list(batches.values())

    def _waits(self, place: ChatPath) -> bool:
        return place in self._late and place not in self._retry

    def note(self, batches: Iterable[Batch], now: float) -> None:
        """Remember what became of the lines."""
        for batch in batches:
            if batch.error is not None:
                self._late[batch.place] = now + self._retry_seconds
                self._retry.discard(batch.place)
                continue
            self._late.pop(batch.place, None)
            self.unsynced.add(batch.place)
            for line in batch.lines:
                self._found(line.seq, batch.place.agent_id)

    def _found(self, seq: int, owner: str) -> None:
        lacking = self._lacking[seq]
        lacking.discard(owner)
        if not lacking:
            del self._lacking[seq]
            self.written.add(seq)

    def end(self) -> None:
        """End a round that saw the whole outbox: from now on we know."""
        self._doubtful = False

    @property
    def late(self) -> int:
        """Count the files that cannot be written at present."""
        return len(self._late)
