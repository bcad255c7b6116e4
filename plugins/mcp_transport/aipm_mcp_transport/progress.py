"""Progress of one call, told to a client that asked for it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from aipm_core import Json
from aipm_mcp_transport.protocol import ProgressToken


class ProgressReport:
    """Numbers that only ever rise: the tool's own, or else the seconds gone by."""

    def __init__(
        self, token: ProgressToken, send: Callable[[dict[str, Json]], Awaitable[None]]
    ) -> None:
        self._token = token
        self._send = send
        self._began = time.monotonic()
        self._last = -1.0
        self._tool_speaks = False

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on what the tool says."""
        self._tool_speaks = True
        await self._tell(progress, total, message)

    async def beat(self) -> None:
        """Say that the call is still alive, unless the tool speaks for itself."""
        if not self._tool_speaks:
            await self._tell(round(time.monotonic() - self._began, 1), None, None)

    async def _tell(self, progress: float, total: float | None, message: str | None) -> None:
        if progress <= self._last:
            return
        self._last = progress
        params: dict[str, Json] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        await self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
