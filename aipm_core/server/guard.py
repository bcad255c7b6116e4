"""Checks every request before anything else sees it: Host, Origin, size of the body.

A web page the user visits can reach a loopback port (DNS rebinding), so loopback is no exception.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from aipm_core.config import ServerSettings
from aipm_core.contributions import Asgi
from aipm_core.errors import ConfigError, StoreUnavailable
from aipm_core.server.answers import SAFE_HEADERS, answer
from aipm_core.wire import LARGEST_BODY

logger = logging.getLogger(__name__)
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_MOST_DIGITS = len(str(LARGEST_BODY))


class Guard:
    """An ASGI application in front of another."""

    def __init__(self, app: Asgi, settings: ServerSettings, port: int) -> None:
        self._app = app
        self._hosts = frozenset(allowed_hosts(settings, port))
        self._origins = frozenset(allowed_origins(settings, port))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Refuse, or hand on with a bounded body and safe response headers."""
        refusal = self._refusal(scope["headers"])
        if refusal is not None:
            await answer(send, *refusal, scope=scope)
            return
        if scope["type"] == "http":
            receive, send = _Bounded(receive), _safe(send)
        try:
            await self._app(scope, receive, send)
        except BodyTooLarge:
            await answer(send, 413, "body_too_large", f"the body exceeds {LARGEST_BODY} bytes")
        except StoreUnavailable as error:
            logger.error("the store cannot be used: %s", error)  # noqa: TRY400 - says it all
            sentence = "the data cannot be read or written right now"
            await answer(send, 503, "store_unavailable", sentence, scope=scope)

    def _refusal(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str, str] | None:
        hosts: list[bytes] = []
        strange = too_long = False
        for name, value in headers:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                strange |= value.decode("latin-1").lower() not in self._origins
            elif name == b"content-length":
                too_long |= _is_too_long(value)
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            return 421, "host_not_allowed", "this server does not answer for that Host"
        if strange:
            return 403, "origin_not_allowed", "this Origin may not talk to this server"
        if too_long:
            return 413, "body_too_large", f"the body exceeds {LARGEST_BODY} bytes"
        return None


def _is_too_long(length: bytes) -> bool:
    digits = length.lstrip(b"0")  # Python refuses to read thousands of them
    return digits.isdigit() and (len(digits) > _MOST_DIGITS or int(digits) > LARGEST_BODY)


class BodyTooLarge(Exception):
    """A body without a length grew too long."""


class _Bounded:
    """Counts the bytes of a body as they come."""

    def __init__(self, receive: Any) -> None:  # noqa: ANN401
        self._receive = receive
        self._size = 0

    async def __call__(self) -> Any:  # noqa: ANN401
        message = await self._receive()
        self._size += len(message.get("body", b""))
        if self._size > LARGEST_BODY:
            raise BodyTooLarge
        return message


def _safe(send: Any) -> Any:  # noqa: ANN401
    async def guarded(message: Any) -> None:  # noqa: ANN401
        if message["type"] == "http.response.start":
            names = {name for name, _ in message["headers"]}
            extra = [header for header in SAFE_HEADERS if header[0] not in names]
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return guarded


def allowed_hosts(settings: ServerSettings, port: int) -> Iterable[str]:
    """List the Host headers this server answers for."""
    yield from (host.lower() for host in settings.allowed_hosts)
    if settings.host in LOOPBACK:
        for name in ("127.0.0.1", "localhost", "[::1]"):
            yield f"{name}:{port}"
            if port == 80:  # noqa: PLR2004 - the port a Host header leaves out
                yield name


def allowed_origins(settings: ServerSettings, port: int) -> Iterable[str]:
    """List the origins whose pages may talk to this server."""
    yield from (origin.lower() for origin in settings.allowed_origins)
    if settings.host in LOOPBACK:
        for name in ("127.0.0.1", "localhost", "[::1]"):
            yield f"http://{name}:{port}"


def check_bind(settings: ServerSettings) -> None:
    """Refuse to listen beyond this machine without the statements that make it safe."""
    if settings.host in LOOPBACK:
        return
    if not settings.behind_tls_proxy or not settings.allowed_hosts:
        raise ConfigError(
            f"[server] host {settings.host!r} is reachable from other machines: put a TLS proxy in "
            "front and set behind_tls_proxy = true and allowed_hosts, or use 127.0.0.1"
        )
