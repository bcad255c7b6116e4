"""Lines over two file descriptors, without threads: asyncio pipes."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from aipm_http_server.api import LARGEST_BODY

_CHUNK = 64 * 1024


class TooLong(Exception):
    """A line exceeds what a message may hold; it was dropped."""


class LineReader:
    """Splits what comes in into lines of a bounded length."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream = stream

    async def lines(self) -> AsyncIterator[bytes | TooLong]:
        """Yield every complete line; what stands after the last newline was never finished."""
        kept = bytearray()
        dropping = False
        while chunk := await self._stream.read(_CHUNK):
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                line = bytes(kept) + part
                kept.clear()
                if not dropping:
                    yield line if len(line) <= LARGEST_BODY else TooLong()
                dropping = False
            kept += rest
            if len(kept) > LARGEST_BODY:
                kept.clear()
                if not dropping:
                    yield TooLong()
                dropping = True


class LineWriter:
    """Writes whole lines in the order they are given."""

    def __init__(self, output: int, transport: asyncio.WriteTransport | None) -> None:
        self._output = output
        self._transport = transport

    def write(self, line: bytes) -> None:
        """Hand one line over to the operating system, or queue it."""
        if self._transport is not None:
            self._transport.write(line + b"\n")
            return
        left = memoryview(line + b"\n")
        while left:
            left = left[os.write(self._output, left) :]

    @property
    def broken(self) -> bool:
        """Whether nobody reads any more."""
        return self._transport is not None and self._transport.is_closing()


@asynccontextmanager
async def opened(input: int, output: int) -> AsyncGenerator[tuple[LineReader, LineWriter]]:  # noqa: A002
    """Read lines from one descriptor and write lines to the other."""
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader()
    reading = writing = None
    if _can_wait(input):
        protocol = asyncio.StreamReaderProtocol(stream)
        reading, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(os.dup(input), "rb"))
    else:
        with os.fdopen(os.dup(input), "rb") as file:
            stream.feed_data(file.read())
        stream.feed_eof()
    if _can_wait(output):
        pipe = os.fdopen(os.dup(output), "wb")
        writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, pipe)
    try:
        yield LineReader(stream), LineWriter(output, writing)
    finally:
        await _flush(writing)
        for transport in (reading, writing):
            if transport is not None:
                transport.close()


def _can_wait(descriptor: int) -> bool:
    """A pipe, a socket or a terminal; the loop cannot wait for a file, nor for /dev/null."""
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(descriptor)


async def _flush(transport: asyncio.WriteTransport | None) -> None:
    """Wait until everything written has left, as long as somebody takes it."""
    while transport is not None and transport.get_write_buffer_size():
        if transport.is_closing():
            return
        await asyncio.sleep(0.005)
