"""Raw HTTP/1.1 clients: keep-alive, one call in flight each, nothing parsed that need not be."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

from benchmarks.wire.messages import ENVELOPE, GREETED, HELLO, Era, Message, encode, is_error


class Connection:
    """One client."""

    def __init__(self, url: str, era: Era = "session") -> None:
        self._where = urlsplit(url)
        self._era = era
        self._session: str | None = None

    async def open(self) -> "Connection":
        """Connect, and open a conversation where the era has one."""
        self._reader, self._writer = await asyncio.open_connection(
            self._where.hostname, self._where.port
        )
        if self._era == "session":
            head, _ = await self.exchange(self.frame(HELLO))
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"mcp-session-id:"):
                    self._session = line.partition(b":")[2].strip().decode()
            await self.exchange(self.frame(GREETED))
        return self

    def close(self) -> None:
        self._writer.close()

    async def ask(self, message: Message) -> Any:
        head, body = await self.exchange(self.frame(message))
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{head.split(chr(13).encode())[0]!r}: {body[:200]!r}")
        lines = [line for line in body.splitlines() if line.startswith((b"data: {", b"{"))]
        answer = json.loads(lines[-1].removeprefix(b"data: "))
        if "error" in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{message['method']} was refused: {body[:300]!r}")
        return answer["result"]

    async def tell(self, frame: bytes) -> bool:
        head, body = await self.exchange(frame)
        return head.startswith(b"HTTP/1.1 200") and not is_error(body)

    def frame(self, message: Message) -> bytes:
        if self._era == "modern":
            message = {**message, "params": {**message["params"], "_meta": ENVELOPE}}
        body = encode(message)
        fields = {
            "host": self._where.netloc,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "content-length": len(body),
            **self._fields(message),
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"POST {self._where.path} HTTP/1.1\r\n{head}\r\n".encode() + body

    def _fields(self, message: Message) -> dict[str, str]:
        if self._era == "modern":
            return {
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": message["method"],
                "mcp-name": message["params"].get("name", ""),
            }
        if self._era == "plain":
            return {"a2a-version": "1.0"}
        if self._session is not None:
            return {"mcp-session-id": self._session, "mcp-protocol-version": "2025-11-25"}
        return {}

    async def exchange(self, frame: bytes) -> tuple[bytes, bytes]:
        """Send a request and return head and body of the answer."""
        self._writer.write(frame)
        head = await self._reader.readuntil(b"\r\n\r\n")
        lowered = head.lower()
        if b"content-length:" in lowered:
            length = int(lowered.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            return head, await self._reader.readexactly(length)
        body = b""
        while b"transfer-encoding: chunked" in lowered:
            size = int((await self._reader.readline()).strip() or b"0", 16)
            chunk = await self._reader.readexactly(size + 2)
            if size == 0:
                break
            body += chunk[:-2]
        return head, body
