"""``POST /commands``: one command a request."""

from __future__ import annotations

from typing import Any

from aipm_http_server.api import BadJson, read_json, says_json, send_json

from aipm_core import CallError, Json, PluginContext
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.identity import Identity
from aipm_ui_gateway.ui_commands.dispatch import Answer, Dispatch, refusal


class CommandEndpoint:
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
        return await self._dispatch.run(person, await frame_of(self._ctx, scope, receive))


async def frame_of(
    ctx: PluginContext[UiGatewayConfig],
    scope: Any,  # noqa: ANN401
    receive: Any,  # noqa: ANN401
) -> Json:
    """Read the frame a request carries."""
    if not says_json(scope):
        raise ctx.refuse("unsupported_media_type", 415)
    try:
        return await read_json(receive)
    except BadJson as error:
        raise ctx.refuse("invalid_frame", 400, reason=error) from None
