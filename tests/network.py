"""A network between a server and its database that a test can slow down, silence and cut."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit


class Network:
    """Carries bytes between a port of its own and a database; counts trips there and back."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        place = parse_qs(parts.query)["host"][0]
        self._socket = f"{place}/.s.PGSQL.{parse_qs(parts.query).get('port', ['5432'])[0]}"
        self._name = parts.path
        self._lines: set[asyncio.StreamWriter] = set()
        self._open = asyncio.Event()
        self._open.set()
        self._late = False
        self.delay = 0.0  # seconds, one way
        self.trips = 0

    @asynccontextmanager
    async def up(self) -> AsyncGenerator[str]:
        """Carry while the block runs; yield the address to use."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            port = server.sockets[0].getsockname()[1]
            yield f"postgresql://postgres@127.0.0.1:{port}{self._name}"
        finally:
            self._open.set()
            self.cut()
            server.close()

    @property
    def speaks(self) -> bool:
        """Whether anything is carried at present."""
        return self._open.is_set()

    def silence(self) -> None:
        """Swallow everything: nobody is told that nothing arrives any more."""
        self._open.clear()

    def speak(self) -> None:
        """Carry on, and deliver what was held back."""
        self._open.set()

    def tell_late(self) -> None:
        """Tell the server of nothing, also not of an end, before it sends something itself."""
        self._late = True

    def cut(self) -> None:
        """Break every connection."""
        for line in list(self._lines):
            line.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(self._socket)
        ends = {writer, back}
        self._lines |= ends
        asked, spoke = asyncio.Event(), asyncio.Event()
        with suppress(OSError):
            await asyncio.wait(
                [
                    asyncio.create_task(self._carry(reader, back, asked, spoke, counts=True)),
                    asyncio.create_task(self._carry(there, writer, asked, spoke, counts=False)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        await self._open.wait()  # nor is anybody told that the other end is gone
        if self._late:
            await spoke.wait()
        for end in ends:
            end.transport.abort()
        self._lines -= ends

    async def _carry(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        asked: asyncio.Event,
        spoke: asyncio.Event,
        *,
        counts: bool,
    ) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                if counts:
                    self.trips += not asked.is_set()
                    asked.set()
                    if self._late:
                        spoke.set()
                else:
                    asked.clear()
                    if self._late:
                        await spoke.wait()
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self._open.wait()
                target.write(data)
                await target.drain()
