"""The state of the server of this process: whether it answers, and whether it is to end."""

from __future__ import annotations

import anyio


class RunningServer:
    """The ``HttpServer`` service."""

    def __init__(self) -> None:
        self._url = ""
        self._ready = anyio.Event()
        self._stop = anyio.Event()

    async def url(self) -> str:
        """Wait until the server answers; return its address."""
        await self._ready.wait()
        return self._url

    def answers_at(self, url: str) -> None:
        """Note that the server answers now."""
        self._url = url
        self._ready.set()

    async def told_to_stop(self) -> None:
        """Wait until somebody stops the server."""
        await self._stop.wait()

    def stop(self) -> None:
        """Tell the server to finish what is under way and end."""
        self._stop.set()
