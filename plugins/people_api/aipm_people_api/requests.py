"""What the routes share: who asks, what the body says, how a refusal is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from aipm_http_server.api import Asgi, BadJson, answer, bearer, read_json, says_json, send_json

from aipm_core import CallError, Gateway, Json, PluginContext, Session
from aipm_people_api.config import PeopleApiConfig

Work: TypeAlias = Callable[[Any, Any], Awaitable[tuple[int, Json]]]


def application(work: Work) -> Asgi:
    """Make an ASGI application of what returns a status and a body; a ``CallError`` is one too."""

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        try:
            status, body = await work(scope, receive)
        except CallError as error:
            await answer(send, error.status, error.code, str(error))
        else:
            await send_json(send, status, body)

    return app


async def person_of(ctx: PluginContext[PeopleApiConfig], gateway: Gateway, scope: Any) -> Session:  # noqa: ANN401
    """Return the person whose token a request carries."""
    token = bearer(scope["headers"])
    if token is None:
        raise ctx.refuse("authentication_required", 401)
    person = await gateway.authenticate(token, "ui")
    if person is None:
        raise ctx.refuse("session_invalid", 401)
    return person


async def body_of(
    ctx: PluginContext[PeopleApiConfig],
    scope: Any,  # noqa: ANN401
    receive: Any,  # noqa: ANN401
) -> dict[str, Json]:
    """Return the JSON object a request carries; an empty body is an empty object."""
    try:
        body = await read_json(receive, empty={})
    except BadJson as error:
        raise ctx.refuse("invalid_arguments", 400, reason=str(error)) from None
    if body and not says_json(scope):
        raise ctx.refuse("unsupported_media_type", 415)
    if not isinstance(body, dict):
        raise ctx.refuse("invalid_arguments", 400, reason=ctx.texts("body.object"))
    return body
