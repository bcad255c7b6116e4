"""Who is asking: a person's token, from the header or the first frame, never from the address."""

from __future__ import annotations

from itertools import chain
from typing import Any
from urllib.parse import parse_qsl

from aipm_http_server.api import bearer
from aipm_sessions.api import DIRECTORY, TOKENS_CHANGED, Agent

from aipm_core import SECRET, PluginContext
from aipm_ui_gateway.config import UiGatewayConfig

_LOOK_AGAIN = 60.0  # seconds; a token also ends by itself, and nobody is woken then
_NAMES = ("token", "auth", "key", "secret", "bearer", "ticket")


class Identity:
    """Recognises people, and notices when they no longer are who they were."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)

    def token(self, scope: Any) -> str | None:  # noqa: ANN401
        """Return the bearer token of a request, if it has one."""
        token = bearer(scope["headers"])
        if token == "":  # nobody has the empty token  # nosec B105
            raise self._ctx.refuse("session_invalid", 401)
        return token

    async def person(self, token: str | None) -> Agent:
        """Return whose token it is."""
        if token is None:
            raise self._ctx.refuse("authentication_required", 401)
        caller = await self._ctx.gateway.authenticate(token, "ui")
        if caller is not None:
            person = await self._directory.agent(self._ctx.store, caller.agent_id)
            if person is not None:
                return person
        raise self._ctx.refuse("session_invalid", 401)

    async def until_revoked(self, token: str) -> None:
        """Return when a token is revoked or has expired."""

        async def look() -> bool | None:
            return await self._ctx.gateway.authenticate(token, "ui") is None or None

        while not self._ctx.store.ending:
            if await self._ctx.store.wait_until((TOKENS_CHANGED,), look, _LOOK_AGAIN):
                return

    def query(self, scope: Any, *allowed: str) -> dict[str, str]:  # noqa: ANN401
        """Return the query, which may say nothing but the allowed names, once each."""
        text = scope["query_string"].decode("latin-1")
        pairs = parse_qsl(text, keep_blank_values=True)
        for name, _ in pairs:
            if name not in allowed and any(part in name.lower() for part in _NAMES):
                raise self._ctx.refuse("token_in_url", 400)
        if any(SECRET.search(part) for part in (text, *chain.from_iterable(pairs))):
            raise self._ctx.refuse("token_in_url", 400)
        if len(dict(pairs)) != len(pairs) or any(name not in allowed for name, _ in pairs):
            raise self._ctx.refuse("invalid_query", 400, names=", ".join(allowed) or "-")
        return dict(pairs)
