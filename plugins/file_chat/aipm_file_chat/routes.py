"""Chat over HTTP, for people with a user-interface token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from aipm_sessions.api import People
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aipm_core import CallError, InvalidArguments, Json, PluginContext, Route, Texts
from aipm_core.arguments import explain
from aipm_core.contributions import Asgi
from aipm_core.server.answers import answer, send_json
from aipm_core.server.bearer import bearer
from aipm_core.wire import BadJson, parse_json
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.history import History
from aipm_file_chat.people import PeoplesChat

_CHAT = "/api/projects/{project_id}/agents/{agent_id}/chat"
_DEFAULT, _MOST = 50, 200

Query: TypeAlias = dict[str, str]
Work: TypeAlias = Callable[[Any, Any, str], Awaitable[tuple[int, Json]]]


class NewMessage(BaseModel):
    """The body of a ``POST``."""

    model_config = ConfigDict(extra="forbid", strict=True)

    content: str
    related_task_id: str | None = Field(default=None, alias="relatedTaskId", max_length=200)


class Routes:
    """Every answer is for one person, and only about that person's own projects."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        people: People,
        chat: PeoplesChat,
        history: History,
    ) -> None:
        self._ctx = ctx
        self._people = people
        self._chat = chat
        self._history = history
        self._words = Texts.load("aipm_core", ctx.locale)

    def all(self) -> Iterable[Route]:
        """List the routes."""
        yield Route(path=f"{_CHAT}/messages", build=lambda _: self._app(self._read))
        yield Route(
            path=f"{_CHAT}/messages", build=lambda _: self._app(self._send), methods=("POST",)
        )
        yield Route(path=f"{_CHAT}/search", build=lambda _: self._app(self._search))

    def _app(self, work: Work) -> Asgi:
        async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
            try:
                person_id = await self._who(scope)
                await self._chat.check_visible(person_id, **scope["path_params"])
                status, body = await work(scope, receive, person_id)
            except CallError as error:
                await answer(send, error.status, error.code, str(error))
                return
            await send_json(send, status, body)

        return app

    async def _who(self, scope: Any) -> str:  # noqa: ANN401
        person = await self._people.whose(bearer(scope["headers"]) or "")
        if person is None:
            raise self._ctx.refuse("ui_token_required", 401)
        return person.id

    async def _read(self, scope: Any, receive: Any, person_id: str) -> tuple[int, Json]:  # noqa: ANN401
        query = _query(scope)
        page = await self._history.page(
            **scope["path_params"],
            after=self._number(query, "after", default=0),
            limit=min(_MOST, self._number(query, "limit", default=_DEFAULT, least=1)),
        )
        await self._history.read_by(person_id, page)
        return 200, asdict(page)

    async def _send(self, scope: Any, receive: Any, person_id: str) -> tuple[int, Json]:  # noqa: ANN401
        body = await self._body(receive)
        key = next((v for n, v in scope["headers"] if n == b"idempotency-key"), None)
        sent = await self._chat.say(
            person_id,
            **scope["path_params"],
            content=body.content,
            related_task_id=body.related_task_id,
            idempotency_key=key.decode("latin-1")[:200] if key else None,
        )
        return 201, {"success": True, "message_id": sent["id"], "message": sent}

    async def _search(self, scope: Any, receive: Any, person_id: str) -> tuple[int, Json]:  # noqa: ANN401
        query = _query(scope)
        if not query.get("q", "").strip():
            raise self._invalid("q", self._words("arguments.missing"))
        limit = min(_MOST, self._number(query, "limit", default=_DEFAULT, least=1))
        found = await self._history.search(**scope["path_params"], text=query["q"], limit=limit)
        return 200, {"messages": found}

    async def _body(self, receive: Any) -> NewMessage:  # noqa: ANN401
        body, more = bytearray(), True
        while more:
            part = await receive()
            if part["type"] == "http.disconnect":
                raise self._invalid("body", "?")
            body += part.get("body", b"")
            more = part.get("more_body", False)
        try:
            return NewMessage.model_validate(parse_json(body))
        except BadJson as error:
            raise self._invalid("body", str(error)) from None
        except ValidationError as error:
            raise InvalidArguments(explain(error, self._words)) from None

    def _number(self, query: Query, name: str, *, default: int, least: int = 0) -> int:
        text = query.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text) >= least):  # noqa: PLR2004 - what fits an integer column
            reason = self._words("arguments.int_type")
            raise self._invalid(name, f"{reason} (≥ {least})")
        return int(text)

    def _invalid(self, field: str, reason: str) -> CallError:
        text = self._ctx.texts("errors.invalid_arguments", field=field, reason=reason[:200])
        return CallError(text, code="invalid_arguments", status=400)


def _query(scope: Any) -> Query:  # noqa: ANN401
    pairs = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return {name: values[-1] for name, values in pairs.items()}
