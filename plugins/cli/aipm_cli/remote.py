"""People's tools on a server, over HTTP, with the token of ``AIPM_UI_TOKEN``."""

from __future__ import annotations

import os
import secrets
import sys
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from aipm_cli.people import refused
from aipm_core import CallError, ConfigError

_SECONDS = 90.0  # longer than any tool may take
_ATTEMPTS = 3  # the same key each time, so that a repetition has no second effect
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_REPEATED = (ConnectionError, HTTPException)


class RemotePeople:
    """Calls ``POST /api/tools/{name}``; nothing is followed anywhere else."""

    remote = True

    def __init__(self, address: str, token: str) -> None:
        self._address = address
        self._place = urlsplit(address)
        self._token = token

    @classmethod
    def reached(cls, address: str) -> RemotePeople:
        """Check what the environment says about the server and the person."""
        place = urlsplit(address)
        try:
            plain = place.scheme in ("http", "https") and bool(place.hostname) and place.port != 0
        except ValueError:
            plain = False
        if not plain or place.username or place.query or place.fragment:
            raise ConfigError(f"{address!r} is not an address such as https://aipm.example.org")
        token = os.environ.get("AIPM_UI_TOKEN", "").strip()
        if not token:
            raise ConfigError(
                "AIPM_UI_TOKEN is not set: put a token into it that `aipm token create` made"
            )
        if place.scheme == "http" and place.hostname not in _LOOPBACK:
            sys.stderr.write("aipm: warning: your token travels unencrypted; use https\n")
        return cls(address, token)

    async def call(self, tool: str, /, **arguments: Any) -> Any:  # noqa: ANN401
        """Call a tool."""
        import anyio
        import orjson

        given = {name: value for name, value in arguments.items() if value is not None}
        body, key = orjson.dumps(given), secrets.token_hex(16)
        status, text = await anyio.to_thread.run_sync(self._sent, tool, body, key)
        try:
            answer = orjson.loads(text)
            if status == HTTPStatus.OK:
                return answer["result"]
            error = answer["error"]
            failure = refused(str(error["message"]), str(error["code"]), int(error["status"]))
        except (ValueError, KeyError, TypeError):
            raise self._unreachable(f"it answers {status} and is no aipm server") from None
        raise failure

    async def wait(self, seconds: float) -> None:
        """Wait; what changes is noticed at the next look."""
        import anyio

        await anyio.sleep(seconds)

    def _sent(self, tool: str, body: bytes, key: str) -> tuple[int, bytes]:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._exchanged(tool, body, key)
            except ConnectionRefusedError as error:
                raise self._unreachable(str(error.strerror)) from error
            except _REPEATED as error:
                if attempt == _ATTEMPTS:
                    raise self._unreachable(str(error) or "it hung up") from error
            except OSError as error:
                raise self._unreachable(str(error.strerror or error)) from error
        raise AssertionError("the last attempt returns or raises")

    def _exchanged(self, tool: str, body: bytes, key: str) -> tuple[int, bytes]:
        kind = HTTPSConnection if self._place.scheme == "https" else HTTPConnection
        connection = kind(self._place.hostname or "", self._place.port, timeout=_SECONDS)
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }
        try:
            path = f"{self._place.path.rstrip('/')}/api/tools/{tool}"
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _unreachable(self, why: str) -> CallError:
        message = f"{self._address} cannot be reached: {why}"
        return CallError(message, code="unreachable", status=503)
