"""A user interface over the WebSocket: gives commands, hears events."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from aipm_core import CallError, Json

_CONNECT_TIMEOUT_SECONDS = 10.0


class UiClient:
    """One connection. ``last_seq`` is where a session can be taken up again after a break."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.last_seq: dict[str, int] = {}
        self._replies: dict[str, asyncio.Future[Mapping[str, Json]]] = {}
        self._events: asyncio.Queue[Mapping[str, Json] | None] = asyncio.Queue()

    async def command(
        self,
        type: str,  # noqa: A002 - the name on the wire
        payload: Mapping[str, Json] | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the name on the wire
    ) -> Mapping[str, Json]:
        """Give a command and return its ack; a refusal is raised as ``CallError``."""
        order = {"id": id or secrets.token_hex(8), "type": type, "payload": payload or {}}
        reply = await self.ask(order)
        if reply["type"] == "error":
            status = 404 if reply["code"].endswith("_not_found") else 400
            raise CallError(reply["message"], code=reply["code"], status=status)
        return reply

    async def ask(self, order: Mapping[str, Json]) -> Mapping[str, Json]:
        """Send a command as it is and return the ack or error for its id.

        Raises ``ConnectionError`` when the connection has ended.
        """
        waiting = self._replies.setdefault(order["id"], asyncio.Future())
        try:
            await self.socket.send(json.dumps(order, ensure_ascii=False))
            return await waiting
        except ConnectionClosed as error:
            raise ConnectionError(f"the connection ended ({error})") from None
        finally:
            self._replies.pop(order["id"], None)

    async def event(self) -> Mapping[str, Json]:
        """Return the next event; raises ``ConnectionError`` when the connection has ended."""
        found = await self._events.get()
        if found is None:
            self._events.put_nowait(None)
            raise ConnectionError(f"the server closed the connection ({self.socket.close_code})")
        return found

    async def listen(self) -> None:
        """Sort what comes in until the connection ends."""
        try:
            async for text in self.socket:
                self._sort(json.loads(text))
        except ConnectionClosed:
            pass
        finally:
            self._events.put_nowait(None)
            for waiting in self._replies.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionError("the connection ended"))

    def _sort(self, frame: Mapping[str, Json]) -> None:
        waiting = self._replies.get(frame.get("id") or "")
        if frame["type"] in {"ack", "error"} and waiting is not None:
            if not waiting.done():
                waiting.set_result(frame)
            return
        if frame.get("scope") == "session":
            self.last_seq[frame["payload"]["sessionId"]] = frame["seq"]
        self._events.put_nowait(frame)


@asynccontextmanager
async def connected(
    url: str, token: str, *, seconds: float = _CONNECT_TIMEOUT_SECONDS
) -> AsyncGenerator[UiClient]:
    """Connect with a token within so many seconds; the address is that of ``/ws``."""
    headers = {"Authorization": f"Bearer {token}"}
    async with connect(
        url, additional_headers=headers, proxy=None, max_size=None, open_timeout=seconds
    ) as socket:
        await socket.recv()  # ready
        client = UiClient(socket)
        listening = asyncio.create_task(client.listen())
        try:
            yield client
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)
