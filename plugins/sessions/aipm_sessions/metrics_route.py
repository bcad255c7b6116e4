"""``/metrics``: numbers for Prometheus, for whoever has a token of this server."""

from __future__ import annotations

from typing import Any

from aipm_core import Gateway, PluginContext
from aipm_core.server.answers import answer
from aipm_core.server.bearer import bearer
from aipm_sessions.api import People
from aipm_sessions.config import SessionsConfig


class MetricsRoute:
    """An ASGI application that answers with the runtime's meter."""

    def __init__(self, ctx: PluginContext[SessionsConfig], people: People) -> None:
        self._ctx = ctx
        self._people = people

    def build(self, gateway: Gateway) -> Any:  # noqa: ANN401
        """Return the application."""

        async def metrics(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
            token = bearer(scope["headers"])
            if token is None or not await self._known(gateway, token):
                message = "send a session's or a person's token: Authorization: Bearer …"
                await answer(send, 401, "authentication_required", message)
                return
            await _send_text(send, self._ctx.meter.text())

        return metrics

    async def _known(self, gateway: Gateway, token: str) -> bool:
        if await self._people.whose(token) is not None:
            return True
        return await gateway.authenticate(token) is not None


async def _send_text(send: Any, text: bytes) -> None:  # noqa: ANN401
    headers = [(b"content-type", b"text/plain; version=0.0.4; charset=utf-8")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": text})
