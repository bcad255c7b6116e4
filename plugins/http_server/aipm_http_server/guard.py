"""Checks every request before anything else sees it: Host, Origin, address, size of the body.

A web page the user visits can reach a loopback port (DNS rebinding), so loopback is no exception.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeAlias

from aipm_core import ConfigError, StoreUnavailable
from aipm_http_server.address import carries_secret
from aipm_http_server.bearer import bearer
from aipm_http_server.bodies import BodyTooLarge, Bounded, announced, too_large
from aipm_http_server.connections import connection_of
from aipm_http_server.records import Asgi
from aipm_http_server.responses import SAFE_HEADERS, answer
from aipm_http_server.settings import ServerSettings
from aipm_http_server.strict_json import LARGEST_BODY

logger = logging.getLogger(__name__)
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
Knows: TypeAlias = Callable[[str], Awaitable[bool]]


class Guard:
    """An ASGI application in front of another."""

    def __init__(self, app: Asgi, settings: ServerSettings, port: int, knows: Knows) -> None:
        self._app = app
        self._knows = knows
        self._hosts = frozenset(allowed_hosts(settings, port))
        self._origins = frozenset(allowed_origins(settings, port))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Refuse, or hand on with a bounded body and safe response headers."""
        refusal = self._refusal(scope["headers"]) or _address_refusal(scope)
        if refusal is not None:
            await answer(send, *refusal, scope=scope)
            return
        body = Bounded(receive, partial(self._is_known, scope))
        if scope["type"] == "http":
            receive, send = body, _safe(send)
        try:
            await body.allow(announced(scope["headers"]))
            if await self._has_place(scope):
                await self._app(scope, receive, send)
            else:
                sentence = "all connections are taken: come back later"
                await answer(send, 503, "too_many_connections", sentence, scope=scope)
        except BodyTooLarge as error:
            await answer(send, 413, "body_too_large", str(error), scope=scope)
        except StoreUnavailable as error:
            logger.error("the store cannot be used: %s", error)  # noqa: TRY400 - says it all
            sentence = "the data cannot be read or written right now"
            await answer(send, 503, "store_unavailable", sentence, scope=scope)

    async def _has_place(self, scope: Any) -> bool:  # noqa: ANN401
        """Give whoever shows a valid token a place that no stranger can take."""
        connection = connection_of(scope)
        if connection is None or connection.known or not await self._is_known(scope):
            return True
        return connection.recognise()

    async def _is_known(self, scope: Any) -> bool:  # noqa: ANN401
        token = bearer(scope["headers"])
        return await self._knows(token) if token else False

    def _refusal(self, headers: Sequence[tuple[bytes, bytes]]) -> tuple[int, str, str] | None:
        hosts: list[bytes] = []
        strange = False
        for name, value in headers:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                strange |= value.decode("latin-1").lower() not in self._origins
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            return 421, "host_not_allowed", "this server does not answer for that Host"
        if strange:
            return 403, "origin_not_allowed", "this Origin may not talk to this server"
        if announced(headers) > LARGEST_BODY:
            return 413, "body_too_large", too_large()
        return None


def _address_refusal(scope: Any) -> tuple[int, str, str] | None:  # noqa: ANN401
    if not carries_secret(scope):
        return None
    sentence = "a token does not belong in an address: send it as Authorization: Bearer …"
    return 400, "token_in_url", sentence


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
