"""Chat over HTTP, for people: each route is one of people's tools under another name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from aipm_http_server.api import (
    Asgi,
    BadJson,
    Route,
    answer,
    bearer,
    idempotency_key,
    read_json,
    send_json,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aipm_core import CallError, Gateway, Json, PluginContext, Request
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.people_tools import MOST_MESSAGES

_CHAT = "/api/projects/{project_id}/agents/{agent_id}/chat"
_LEAST = {"after": 0, "limit": 1}
_LONGEST_NUMBER = 18  # digits; what fits an integer column
Arguments: TypeAlias = Callable[[Any, Any], Awaitable[dict[str, Json]]]


class NewMessage(BaseModel):
    """The body of a ``POST``."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    content: str
    related_task_id: str | None = Field(default=None, alias="relatedTaskId")


class Routes:
    """Maps requests to calls; who may do what is decided where it is for every call."""

    def __init__(self, ctx: PluginContext[FileChatConfig]) -> None:
        self._ctx = ctx

    def all(self) -> Iterable[Route]:
        """List the routes."""
        messages, post = f"{_CHAT}/messages", ("POST",)
        reading = self._application("read_messages", self._cursor)
        sending = self._application("say", self._message, status=201)
        yield Route(path=messages, build=reading)
        yield Route(path=messages, build=sending, methods=post)
        yield Route(path=f"{_CHAT}/search", build=self._application("search_messages", self._words))

    def _application(
        self, tool: str, arguments: Arguments, status: int = 200
    ) -> Callable[[Gateway], Asgi]:
        def build(gateway: Gateway) -> Asgi:
            async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
                try:
                    body = await self._called(gateway, tool, arguments, scope, receive)
                except CallError as error:
                    await answer(send, error.status, error.code, str(error))
                else:
                    await send_json(send, status, body)

            return app

        return build

    async def _called(
        self,
        gateway: Gateway,
        tool: str,
        arguments: Arguments,
        scope: Any,  # noqa: ANN401
        receive: Any,  # noqa: ANN401
    ) -> Json:
        person = await gateway.authenticate(bearer(scope["headers"]) or "", "ui")
        if person is None:
            raise self._ctx.refuse("ui_token_required", 401)
        given = {**scope["path_params"], **await arguments(scope, receive)}
        reply = await gateway.call(
            Request(tool=tool, arguments=given, session=person, audience="ui")
        )
        if reply.error is not None:
            failure = reply.error
            raise CallError(failure.message, code=failure.code, status=failure.status)
        return reply.result

    async def _cursor(self, scope: Any, receive: Any) -> dict[str, Json]:  # noqa: ANN401
        return _numbers(_query(scope), "after", "limit")

    async def _words(self, scope: Any, receive: Any) -> dict[str, Json]:  # noqa: ANN401
        query = _query(scope)
        if not query.get("q", "").strip():
            raise self._invalid("q", self._ctx.texts("query.missing"))
        return {**_numbers(query, "limit"), "text": query["q"]}

    async def _message(self, scope: Any, receive: Any) -> dict[str, Json]:  # noqa: ANN401
        try:
            key = idempotency_key(scope["headers"])
        except ValueError as error:
            reason = self._ctx.texts("headers.key", longest=error)
            raise self._invalid("Idempotency-Key", reason) from None
        try:
            body = NewMessage.model_validate(await read_json(receive))
        except BadJson as error:
            raise self._invalid("body", str(error)) from None
        except ValidationError as error:
            raise self._ctx.invalid(error) from None
        return {**body.model_dump(), "idempotency_key": key}

    def _invalid(self, field: str, reason: str) -> CallError:
        text = self._ctx.texts("errors.invalid_arguments", field=field, reason=reason[:200])
        return CallError(text, code="invalid_arguments", status=400)


def _query(scope: Any) -> dict[str, str]:  # noqa: ANN401
    pairs = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return {name: values[-1] for name, values in pairs.items()}


def _numbers(query: dict[str, str], *names: str) -> dict[str, Json]:
    """Return those of the names that are given; what is no number is for the tool to refuse."""
    numbers: dict[str, Json] = {
        name: number_of(query[name], _LEAST[name]) for name in names if name in query
    }
    if isinstance(limit := numbers.get("limit"), int):
        numbers["limit"] = min(limit, MOST_MESSAGES)
    return numbers


def number_of(text: str, least: int) -> int | str:
    """Return a number of an address; the text itself if it is none, or too small."""
    plain = text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER
    return int(text) if plain and int(text) >= least else text
