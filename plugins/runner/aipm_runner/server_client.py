"""The server, as a runner on another machine reaches it: plain requests that it makes itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from aipm_core import Json, redact

if TYPE_CHECKING:
    import httpx2

_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 15.0  # beyond what a request waits for on purpose
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_UNAUTHORISED, _TOO_MANY, _BROKEN = 401, 429, 500


class UnreachableError(Exception):
    """No answer came, or none that says anything: the same request may be made again."""


class RefusedError(Exception):
    """The server answered no; the text is its sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class ServerClient:
    """Requests in the name of one person. The token is in no message and no log."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._client: httpx2.AsyncClient | None = None

    async def __aenter__(self) -> ServerClient:
        """Be ready to make requests."""
        import httpx2

        self._client = httpx2.AsyncClient(
            base_url=self.url, headers={"authorization": f"Bearer {self._token}"}
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def ask(self, path: str, body: Mapping[str, Json], waits: float = 0.0) -> dict[str, Any]:
        """Make one request; raises ``UnreachableError`` or ``RefusedError``."""
        import httpx2

        if self._client is None:
            raise RuntimeError("not open")
        limits = httpx2.Timeout(waits + _ANSWER_SECONDS, connect=_CONNECT_SECONDS)
        try:
            answer = await self._client.post(path, json=body, timeout=limits)
            data: dict[str, Any] = answer.json()
        except (httpx2.HTTPError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise UnreachableError(redact(f"{type(error).__name__}: {error}")) from None
        if answer.status_code >= _BROKEN or answer.status_code == _TOO_MANY:
            raise UnreachableError(f"HTTP {answer.status_code}")
        if answer.is_error:
            told = data.get("error") or {}
            raise RefusedError(answer.status_code, told.get("code", ""), told.get("message", ""))
        return data

    async def insist(
        self, path: str, body: Mapping[str, Json], waits: float = 0.0
    ) -> dict[str, Any]:
        """Make a request that may be made twice, until there is an answer."""
        pause = _SHORTEST_PAUSE
        while True:
            try:
                return await self.ask(path, body, waits)
            except UnreachableError:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
