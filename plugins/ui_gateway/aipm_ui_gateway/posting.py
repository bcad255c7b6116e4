"""``POST /commands``: one command a request."""

from __future__ import annotations

from typing import Any

from aipm_core import CallError, Json, PluginContext
from aipm_core.server.answers import send_json
from aipm_core.wire import BadJson, parse_json
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.dispatch import Answer, Dispatch, refusal
from aipm_ui_gateway.identity import Identity


class CommandDoor:
    """An ASGI application that carries out commands."""

    def __init__(
        self, ctx: PluginContext[UiGatewayConfig], dispatch: Dispatch, identity: Identity
    ) -> None:
        self._ctx = ctx
        self._dispatch = dispatch
        self._identity = identity

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Answer one command."""
        try:
            made = await self._answer(scope, receive)
        except CallError as error:
            made = refusal(error)
        await send_json(send, made.status, made.reply)

    async def _answer(self, scope: Any, receive: Any) -> Answer:  # noqa: ANN401
        self._identity.query(scope)
        person = await self._identity.person(self._identity.token(scope))
        return await self._dispatch.run(person, await read_json(self._ctx, scope, receive))


async def read_json(
    ctx: PluginContext[UiGatewayConfig],
    scope: Any,  # noqa: ANN401
    receive: Any,  # noqa: ANN401
) -> Json:
    """Read a JSON body; a form or plain text, which any web page can post, is refused."""
    kind = dict(scope["headers"]).get(b"content-type", b"").split(b";")[0].strip().lower()
    if kind != b"application/json":
        raise ctx.refuse("unsupported_media_type", 415)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ctx.refuse("invalid_frame", 400, reason="incomplete")
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    try:
        return parse_json(body)
    except BadJson as error:
        raise ctx.refuse("invalid_frame", 400, reason=error) from None
