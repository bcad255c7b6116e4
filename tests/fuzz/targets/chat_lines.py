"""Chat files as agents may have left them: our lines go in whole, once each, nothing is lost."""

import os
import tempfile
from functools import cache
from typing import NamedTuple

import orjson
from aipm_file_chat.api import Message
from aipm_file_chat.lines import Line, append, ids_in, line_of
from hypothesis import strategies as st

from tests.fuzz.choices import Choices
from tests.fuzz.target import Target


def line(number: int, content: str) -> Line:
    message = Message(
        seq=number,
        id=f"msg_{number}",
        project_id="p",
        sender_id="agent-a",
        receiver_id="agent-b",
        content=content,
        created_at="2026-01-23T10:00:00.123Z",
    )
    return line_of(message, "agent-a")


OURS = (line(1, "hello"), line(2, 'あ\n\u2028\\"'), line(3, '{"id":"msg_1"}'))


class File(NamedTuple):
    """What stands in a file before, and which lines are to be added."""

    before: bytes
    lines: tuple[Line, ...]


@cache
def handle() -> int:
    name = tempfile.mkstemp(prefix="aipm-fuzz-")[1]
    descriptor = os.open(name, os.O_RDWR | os.O_APPEND)
    os.unlink(name)  # noqa: PTH108
    return descriptor


def content() -> bytes:
    return os.pread(handle(), 1 << 20, 0)


def put(file: File) -> bytes:
    os.ftruncate(handle(), 0)
    os.write(handle(), file.before)
    append(handle(), file.lines, doubtful=True)
    return content()


def is_torn(before: bytes, lines: tuple[Line, ...]) -> bool:
    """Return whether the file ends with the beginning of a line of ours, cut off by a crash."""
    tail = before.rpartition(b"\n")[2]
    return bool(tail) and any(one.text.startswith(tail) for one in lines)


def check(file: File) -> None:
    after = put(file)
    whole = file.before.rpartition(b"\n")[0] if is_torn(file.before, file.lines) else file.before
    assert after.startswith(whole), "what others wrote stays"
    told = after.split(b"\n")[:-1]
    for one in file.lines:
        stands = told.count(one.text[:-1])
        there_before = file.before.split(b"\n")[:-1].count(one.text[:-1])
        forged = any(is_forged(part, one) for part in file.before.split(b"\n")[:-1])
        assert stands == max(1, there_before) or forged, one.id
    assert after.endswith(b"\n") or after == file.before, "the last line is ended"
    append(handle(), file.lines, doubtful=True)
    assert content() == after, "a second time changes nothing"
    for name in ids_in(after, {one.id for one in OURS}):
        assert name in {one.id for one in OURS}


def is_forged(part: bytes, one: Line) -> bool:
    """Who writes a line under our id beforehand takes its place; the store has the truth."""
    try:
        value = orjson.loads(part)
    except orjson.JSONDecodeError:
        return False
    return part.startswith(b'{"id":"%s"' % one.id.encode()) and isinstance(value, dict)


PIECES = (
    *(one.text for one in OURS),
    *(one.text[:-1] for one in OURS),
    *(
        b"\n",
        b"{",
        b'{"id":"msg_1"',
        b'{"id":"msg_1"}\n',
        b'{"id":"msg_2","x":',
        b"\xff",
        b"\r\n",
        b"\x00",
    ),
)


def read(data: bytes) -> File:
    choices = Choices(data)
    parts: list[bytes] = []
    for _ in range(choices.byte() % 5):
        piece = choices.bytes(12) if choices.once_in(5) else choices.pick(PIECES)
        parts.append(piece[: choices.byte()] if choices.once_in(3) else piece)
    number = choices.byte() % 4
    return File(b"".join(parts), OURS[:number])


TARGET = Target[File](
    read=read,
    check=check,
    values=st.builds(
        File,
        st.lists(
            st.sampled_from(PIECES)
            | st.builds(
                lambda piece, end: piece[:end], st.sampled_from(PIECES), st.integers(0, 150)
            )
            | st.binary(max_size=6),
            max_size=5,
        ).map(b"".join),
        st.integers(0, 3).map(lambda number: OURS[:number]),
    ),
    parse=put,
    grown={
        "newlines": lambda size: File(b"\n" * size, OURS),
        "no newline": lambda size: File(b"x" * size, OURS),
        "beginnings": lambda size: File(b'{"id":"msg_1"' * (size // 13), OURS),
        "forged": lambda size: File(b'{"id":"msg_1"\n' * (size // 14), OURS),
    },
    words=PIECES,
    longest=80,
)
