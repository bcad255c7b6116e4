"""The lines of a chat file: how they look, and how they are added without tearing or doubling."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import orjson
from aipm_sessions.api import is_name

from aipm_file_chat.api import Message

_MAX_LINE_BYTES = 64 * 1024  # 4,000 characters, each escaped, and the fields around them
_FOREIGN_BYTES = 1024 * 1024  # how much somebody else may have put behind our lines


class Line(NamedTuple):
    """One message as it stands in one agent's file."""

    seq: int
    id: str
    text: bytes


@lru_cache(4096)
def has_file(agent_id: str) -> bool:
    """Return whether somebody has a chat file: everybody with a proper name, not the system."""
    return is_name(agent_id)


def owners_of(message: Message) -> tuple[str, ...]:
    """Name the agents whose files hold a message: the sender's first."""
    return tuple(a for a in (message.sender_id, message.receiver_id) if has_file(a))


def line_of(message: Message, owner: str) -> Line:
    """Return the line for one owner; only the sender's file says who it was sent to."""
    shown = {"id": message.id, "senderId": message.sender_id}
    if owner == message.sender_id:
        shown["receiverId"] = message.receiver_id
    shown |= {"content": message.content, "createdAt": message.created_at}
    if message.related_task_id is not None:
        shown["relatedTaskId"] = message.related_task_id
    if message.conversation_id is not None:
        shown["conversationId"] = message.conversation_id
    if message.corrects is not None:
        shown["corrects"] = message.corrects
    return Line(message.seq, message.id, orjson.dumps(shown) + b"\n")


def append(file: int, lines: Sequence[Line], *, doubtful: bool) -> None:
    """Add lines with one write; ``doubtful`` first looks which of them are already there."""
    size = os.fstat(file).st_size
    if doubtful:
        present = _present(file, size, lines)
        lines = [line for line in lines if line.id not in present]
    if not lines:
        return
    torn = _torn_tail(file, size)
    texts = [line.text for line in lines]
    if torn and any(text.startswith(torn) for text in texts):
        size -= len(torn)  # ours, cut off by a crash: it is written whole now
        os.ftruncate(file, size)
    elif torn:
        texts.insert(0, b"\n")
    write_whole(file, b"".join(texts))


def ids_in(text: bytes, wanted: Collection[str]) -> Iterator[str]:
    """Yield the ids of the whole lines of ``text``, as far as they are wanted.

    One that lacks only its newline is torn too: taken for whole, it would never get one.
    """
    for line in text.split(b"\n")[:-1]:
        if line.startswith(b'{"id":"'):
            name = line[7 : line.find(b'"', 7)].decode(errors="replace")
            if name in wanted and _is_whole(line):
                yield name


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _present(file: int, size: int, lines: Sequence[Line]) -> set[str]:
    """Look for lines at the end of the file, where they must be if they were ever written."""
    window = min(size, 2 * sum(len(line.text) for line in lines) + _FOREIGN_BYTES)
    return set(ids_in(_read(file, size - window, window), {line.id for line in lines}))


def _torn_tail(file: int, size: int) -> bytes:
    """Return what stands behind the last newline."""
    if size == 0 or os.pread(file, 1, size - 1) == b"\n":
        return b""
    window = min(size, _MAX_LINE_BYTES)
    return _read(file, size - window, window).rpartition(b"\n")[2]


def _read(file: int, start: int, length: int) -> bytes:
    parts: list[bytes] = []
    while length > 0 and (part := os.pread(file, length, start)):
        parts.append(part)
        start, length = start + len(part), length - len(part)
    return b"".join(parts)


def write_whole(file: int, text: bytes) -> None:
    """Write everything at the end of a file, or leave the file as it was."""
    before = os.fstat(file).st_size
    view, written = memoryview(text), 0
    try:
        while written < len(text):
            written += os.write(file, view[written:])
    except OSError:
        if written and os.fstat(file).st_size == before + written:
            os.ftruncate(file, before)
        raise
