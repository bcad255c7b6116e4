"""The routes for people: projects, state, stream. Every answer is for one person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias
from urllib.parse import parse_qsl

from aipm_http_server.api import Asgi, Receive, Route, Scope, Send, answer, bearer, send_json
from aipm_sessions.api import DIRECTORY, PEOPLE, Agent

from aipm_core import CallError, Json, PluginContext, iso
from aipm_views.config import ViewsConfig
from aipm_views.projector import Projector
from aipm_views.records import EVERYBODY
from aipm_views.state import StateReader
from aipm_views.stream import Streams

_PROJECTS = "/api/projects"
_LONGEST_CURSOR = 18  # digits; what fits an integer column
Work: TypeAlias = Callable[[Scope, Receive, Send, Agent], Awaitable[None]]


class Routes:
    """Who asks is found out here, and what is not theirs does not exist."""

    def __init__(
        self,
        ctx: PluginContext[ViewsConfig],
        projector: Projector,
        reader: StateReader,
        streams: Streams,
    ) -> None:
        self._ctx = ctx
        self._projector = projector
        self._reader = reader
        self._streams = streams
        self._people = ctx.services.use(PEOPLE)
        self._directory = ctx.services.use(DIRECTORY)

    def all(self) -> Iterable[Route]:
        """List the routes."""
        yield Route(path=_PROJECTS, build=lambda _: self._app(self._projects))
        one = f"{_PROJECTS}/{{project_id}}"
        yield Route(path=f"{one}/state", build=lambda _: self._app(self._state))
        yield Route(path=f"{one}/stream", build=lambda _: self._app(self._stream))

    def _app(self, work: Work) -> Asgi:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                person = await self._person(scope)
                await self._check_member(scope, person)
                await work(scope, receive, send, person)
            except CallError as error:
                await answer(send, error.status, error.code, str(error))

        return app

    async def _person(self, scope: Scope) -> Agent:
        token = bearer(scope["headers"])
        if token is None:
            raise self._ctx.refuse("authentication_required", 401)
        person = await self._people.person_of(token) if token else None
        if person is None or person.kind != "human":
            raise self._ctx.refuse("session_invalid", 401)
        return person

    async def _check_member(self, scope: Scope, person: Agent) -> None:
        project_id = scope.get("path_params", {}).get("project_id")
        if project_id is None:
            return
        if not await self._directory.is_member(self._ctx.store, person.id, project_id):
            raise self._ctx.refuse("project_not_found", 404)

    async def _projects(self, scope: Scope, _: Receive, send: Send, person: Agent) -> None:
        self._query(scope)
        mine = await self._directory.projects_of(self._ctx.store, person.id)
        shown = [await self._project(project_id, person) for project_id in mine]
        await send_json(send, 200, {"projects": shown})

    async def _project(self, project_id: str, person: Agent) -> dict[str, Json]:
        await self._projector.ready(project_id)
        found = await self._reader.records(project_id, EVERYBODY, "project")
        project = found.get(project_id, {})
        waiting = await self._reader.records(project_id, person.id, "inbox")
        now = iso(self._ctx.clock())
        return {
            "id": project_id,
            "name": project.get("name", project_id),
            "paused": project.get("paused", False),
            "tasks": project.get("tasks", {}),
            "agents": project.get("agents", 0),
            "waiting": sum((item["snoozed_until"] or "") <= now for item in waiting.values()),
        }

    async def _state(self, scope: Scope, _: Receive, send: Send, person: Agent) -> None:
        self._query(scope)
        state = await self._reader.state(scope["path_params"]["project_id"], person.id)
        await send_json(send, 200, {"cursor": str(state.cursor), "views": state.views})

    async def _stream(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        person: Agent,
    ) -> None:
        token, after = bearer(scope["headers"]) or "", self._after(scope)
        project_id = scope["path_params"]["project_id"]
        await self._streams.serve(person, token, project_id, after, receive, send)

    def _after(self, scope: Scope) -> int | None:
        # A browser that reconnects by itself repeats the address and adds the newer header.
        header = dict(scope["headers"]).get(b"last-event-id", b"").decode("latin-1")
        given = header or self._query(scope, "after").get("after", "")
        if not given:
            return None
        if not (given.isascii() and given.isdigit() and len(given) <= _LONGEST_CURSOR):
            raise self._ctx.refuse("invalid_cursor", 400)
        return int(given)

    def _query(self, scope: Scope, *allowed: str) -> dict[str, str]:
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if len(dict(pairs)) != len(pairs) or any(name not in allowed for name, _ in pairs):
            raise self._ctx.refuse("invalid_query", 400, names=", ".join(allowed) or "-")
        return dict(pairs)
