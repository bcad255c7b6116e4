"""One call over HTTP: answered as JSON at once, or as a stream of events if it lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, TypeAlias, TypeVar

import orjson

from aipm_core import Json

T = TypeVar("T")
Ending: TypeAlias = Literal["left", "cancelled"]
# Most calls end before anybody could leave, so the watch over the connection starts a little later.
_STREAM_AFTER_SECONDS = 0.05
_EVENTS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class Ended(Exception):
    """Nobody waits for the answer any more."""

    def __init__(self, why: Ending) -> None:
        super().__init__(why)
        self.why = why


class Exchange:
    """Writes to a client, and watches over it while it waits."""

    def __init__(self, receive: Any, send: Any) -> None:  # noqa: ANN401
        self._receive = receive
        self._send = send
        self._worker: asyncio.Task[Any] | None = None
        self._ending: Ending | None = None
        self._streaming = False
        self._writing: asyncio.Lock | None = None

    async def attend(
        self, work: Awaitable[T], beat: Callable[[], Awaitable[None]], seconds: float
    ) -> T:
        """Await ``work``, with a ``beat`` every so many seconds, as long as the client waits."""
        worker = self._worker = asyncio.current_task()
        loop = asyncio.get_running_loop()
        watch: list[asyncio.Task[None]] = []
        timer = loop.call_later(
            _STREAM_AFTER_SECONDS,
            lambda: watch.append(loop.create_task(self._watch(beat, seconds))),
        )
        try:
            return await work
        except asyncio.CancelledError:
            if self._ending is None or worker is None:
                raise
            worker.uncancel()
            raise Ended(self._ending) from None
        finally:
            timer.cancel()
            for task in watch:
                task.cancel()

    def end(self, why: Ending) -> None:
        """Stop the work."""
        if self._ending is None and self._worker is not None:
            self._ending = why
            self._worker.cancel()

    async def notify(self, message: Mapping[str, Json]) -> None:
        """Send a message ahead of the response."""
        await self._stream(_event(orjson.dumps(message)))

    async def ping(self) -> None:
        """Keep proxies from closing a silent connection."""
        await self._stream(b": ping\r\n\r\n")

    async def finish(self, status: int, message: Mapping[str, Json]) -> None:
        """Send the response and close."""
        body = orjson.dumps(message)
        if self._streaming:
            await self._send({"type": "http.response.body", "body": _event(body)})
            return
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body})

    async def _watch(self, beat: Callable[[], Awaitable[None]], seconds: float) -> None:
        while True:
            try:
                async with asyncio.timeout(seconds):
                    message = await self._receive()
            except TimeoutError:
                await beat()
            else:
                if message["type"] == "http.disconnect":
                    self.end("left")
                    return

    async def _stream(self, chunk: bytes) -> None:
        if self._writing is None:
            self._writing = asyncio.Lock()
        async with self._writing:
            if not self._streaming:
                start = {"type": "http.response.start", "status": 200, "headers": list(_EVENTS)}
                await self._send(start)
                self._streaming = True
            await self._send({"type": "http.response.body", "body": chunk, "more_body": True})


def _event(body: bytes) -> bytes:
    return b"event: message\r\ndata: " + body + b"\r\n\r\n"
