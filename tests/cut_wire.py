"""A network that breaks: passes bytes between a client and a server, and cuts when it is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

READ_BYTES = 65_536


class CutWire:
    """A proxy on a port of its own, in a thread of its own.

    ``cuts`` is asked for every request (its number and its path) and says where the wire breaks:
    ``before`` the server hears of it, ``after`` the server has answered, or not at all.
    """

    def __init__(self, target: int, cuts: Callable[[int, str], str | None]) -> None:
        self._target = target
        self._cuts = cuts
        self._count = 0
        self._ready = threading.Event()
        self._stop: Callable[[], object] = lambda: None
        self.port = 0
        self.cut = 0
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> CutWire:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._thread.join(10)

    async def _run(self) -> None:
        over, loop = asyncio.Event(), asyncio.get_running_loop()
        self._stop = lambda: loop.call_soon_threadsafe(over.set)
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await over.wait()
        server.close()

    async def _serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, out = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                while await self._exchange(near, back, far, out):
                    pass
        finally:
            for wire in (out, back):
                wire.transport.abort()

    async def _exchange(
        self,
        near: asyncio.StreamReader,
        back: asyncio.StreamWriter,
        far: asyncio.StreamReader,
        out: asyncio.StreamWriter,
    ) -> bool:
        """Pass one request and its answer; ``False`` when the wire is broken."""
        request = await _message(near)
        self._count += 1
        where = self._cuts(self._count, request.split(b" ", 2)[1].decode())
        self.cut += where is not None
        if where == "before":
            return False
        there, here = (f"host: 127.0.0.1:{port}".encode() for port in (self._target, self.port))
        out.write(request.replace(here, there).replace(here.title(), there))
        answer = await _message(far)
        if where == "after":
            return False
        back.write(answer)
        await back.drain()
        return True


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return head + await reader.readexactly(int(line.partition(b":")[2]))
    return head
