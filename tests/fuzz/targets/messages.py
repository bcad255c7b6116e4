"""MCP over stdio: bytes in pieces, lines, messages, eras, calls, and one answer to each request."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
from aipm_mcp_transport.lines import LineReader
from aipm_mcp_transport.stdio import StdioServer
from hypothesis import strategies as st

from tests.fuzz.awaiting import awaited
from tests.fuzz.choices import Choices
from tests.fuzz.rpc import MESSAGE, check_answer, is_plain_id, parsed, stand_in_gateway, written
from tests.fuzz.shapes import shaped
from tests.fuzz.target import Target


class Talk(NamedTuple):
    """What a client writes, and in how large pieces it arrives."""

    stream: bytes
    piece: int


class Pieces:
    """The part of a stream reader that lines are read from."""

    def __init__(self, talk: Talk) -> None:
        step = max(1, talk.piece)
        self._left = [talk.stream[at : at + step] for at in range(0, len(talk.stream), step)][::-1]

    async def read(self, _: int) -> bytes:
        return self._left.pop() if self._left else b""


class Paper:
    """Takes what would be written to the client."""

    broken = False

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, line: bytes) -> None:
        self.lines.append(line)


async def hold(talk: Talk) -> tuple[list[bytes], list[bytes]]:
    """Hold one conversation; return the lines that came in and those that went out."""
    paper: Any = Paper()
    pieces: Any = Pieces(talk)
    _, calls, server_info = stand_in_gateway()
    front, heard = StdioServer(calls, server_info, paper, None, 60.0), list[bytes]()
    async for line in LineReader(pieces).lines():
        assert isinstance(line, bytes)
        heard.append(line)
        front.take(line)
    await front.last_words()
    await front.close()
    return heard, paper.lines


def expected(message: Any) -> Iterator[str]:
    """Yield the id under which a message must be answered; ``"1"`` is not ``1``."""
    if not isinstance(message, dict):
        yield repr(None)
    elif message.get("method") is None and ("result" in message or "error" in message):
        return
    elif "id" in message:
        yield repr(message["id"] if is_plain_id(message["id"]) else None)


def called_off(message: Any) -> Iterator[str]:
    """Yield the id of a call that may stay without an answer."""
    if isinstance(message, dict) and message.get("method") == "notifications/cancelled":
        params = message.get("params")
        yield repr(params.get("requestId") if isinstance(params, dict) else None)


def check(talk: Talk) -> None:
    heard, said = awaited(hold(talk))
    assert heard == talk.stream.split(b"\n")[:-1]
    answers = [orjson.loads(line) for line in said]
    assert not any(b"\n" in line for line in said)
    for answer in answers:
        check_answer(answer)
    messages = [parsed(line)[0] for line in heard if line.strip()]
    given = Counter(repr(answer["id"]) for answer in answers)
    wanted = Counter(id_ for message in messages for id_ in expected(message))
    if given != wanted:
        lost = {id_ for message in messages for id_ in called_off(message)}
        assert not given - wanted
        assert (wanted - given).keys() <= lost


def read(data: bytes) -> Talk:
    choices = Choices(data)
    piece = choices.pick((4096, 4096, 4096, 64, 7, 1))
    lines = [
        choices.bytes(64) if choices.once_in(8) else written(choices.shaped(MESSAGE))
        for _ in range(1 + choices.byte() % 2)
    ]
    end = b"" if choices.once_in(8) else b"\n"
    return Talk(b"\n".join(lines) + end, piece)


LINES = shaped(MESSAGE).map(written)
TARGET = Target[Talk](
    read=read,
    check=check,
    values=st.builds(
        Talk,
        st.lists(LINES | st.binary(max_size=9), max_size=4).map(
            lambda all_: b"\n".join([*all_, b""])
        ),
        st.integers(1, 300),
    ),
    parse=lambda talk: awaited(hold(talk)),
    grown={
        "empty lines": lambda size: Talk(b"\n" * size, 64 * 1024),
        "one line in pieces": lambda size: Talk(b'"' + b"x" * size + b'"\n', 512),
        "pings": lambda size: Talk(
            b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * (size // 41), 64 * 1024
        ),
        "calls of one id": lambda size: Talk(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"",'
            b'"capabilities":{},"clientInfo":{}}}\n'
            + b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}\n'
            * (size // 75),
            64 * 1024,
        ),
    },
    longest=100,
)
