"""Raw HTTP/1.1 clients: keep-alive, one call in flight each, nothing parsed that need not be."""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


@dataclass
class Load:
    """What came of one run."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    cpu_seconds: float = 0

    def add(self, other: "Load", cpu_seconds: float) -> None:
        self.seconds += other.seconds
        self.latencies += other.latencies
        self.cpu_seconds += cpu_seconds

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds

    @property
    def cpu_microseconds(self) -> float:
        return self.cpu_seconds / len(self.latencies) * 1e6

    def percentile(self, share: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000


class Connection:
    """One client."""

    def __init__(self, url: str) -> None:
        self._where = urlsplit(url)
        self._session: str | None = None

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            self._where.hostname, self._where.port
        )

    def close(self) -> None:
        self._writer.close()

    async def greet(self) -> None:
        """Open a legacy conversation."""
        head, _ = await self.ask({"method": "initialize", "params": HELLO, "id": 0})
        for line in head.split(b"\r\n"):
            if line.lower().startswith(b"mcp-session-id:"):
                self._session = line.partition(b":")[2].strip().decode()
        await self.ask({"method": "notifications/initialized"})

    async def ask(self, message: dict[str, Any]) -> tuple[bytes, bytes]:
        return await self.exchange(self.frame(message))

    def frame(self, message: dict[str, Any]) -> bytes:
        """Return a POST, ready to be sent again and again."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        fields = {
            "host": self._where.netloc,
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "content-length": len(body),
        }
        if "_meta" in message.get("params", {}):
            fields["mcp-protocol-version"] = "2026-07-28"
            fields["mcp-method"] = message["method"]
            fields["mcp-name"] = message["params"].get("name", "")
        elif self._session is not None:
            fields["mcp-session-id"] = self._session
            fields["mcp-protocol-version"] = "2025-11-25"
        head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return f"POST {self._where.path} HTTP/1.1\r\n{head}\r\n".encode() + body

    async def exchange(self, frame: bytes) -> tuple[bytes, bytes]:
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


def call(tool: str, arguments: Mapping[str, Any], era: str) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if era == "modern":
        params["_meta"] = ENVELOPE
    return {"method": "tools/call", "id": 1, "params": params}


async def load(
    url: str, tool: str, arguments: Mapping[str, Any], era: str, clients: int, seconds: float
) -> Load:
    """Let so many clients call a tool for so long."""
    connections = [Connection(url) for _ in range(clients)]
    for connection in connections:
        await connection.open()
        if era == "legacy":
            await connection.greet()
    made = Load(seconds)
    until = time.perf_counter() + seconds

    async def client(connection: Connection) -> None:
        frame = connection.frame(call(tool, arguments, era))
        while (start := time.perf_counter()) < until:
            _, body = await connection.exchange(frame)
            made.latencies.append(time.perf_counter() - start)
            assert b'"isError":true' not in body, body
            assert b'"error":' not in body, body

    await asyncio.gather(*map(client, connections))
    for connection in connections:
        connection.close()
    return made
