"""What a runner on another machine says and asks, over HTTP, in the name of a person.

Who may let an agent run somewhere gets its session: a manager of the project, or somebody who
stands above the agent. A run of another runner is as unknown as one that is not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict
from typing import Any, TypeAlias

from aipm_http_server.api import (
    Asgi,
    BadJson,
    Route,
    answer,
    bearer,
    read_json,
    says_json,
    send_json,
)
from aipm_sessions.api import PEOPLE, Agent
from pydantic import ValidationError

from aipm_core import CallError, Json, PluginContext
from aipm_runner.config import RunnerConfig
from aipm_runner.remote_runners import RemoteRunners
from aipm_runner.runner_messages import (
    ClaimRequest,
    Message,
    NativeRequest,
    PlaceReport,
    Reports,
    WatchRequest,
)

Work: TypeAlias = Callable[[Agent, Any, str], Awaitable[Json]]


class RunnerRoutes:
    """Checks who asks and what; the rest is done behind it."""

    def __init__(self, ctx: PluginContext[RunnerConfig], runners: RemoteRunners) -> None:
        self._ctx = ctx
        self._runners = runners
        self._people = ctx.services.use(PEOPLE)

    def all(self) -> Iterable[Route]:
        """List the routes."""
        yield self._route("/api/runner/claim", ClaimRequest, self._claim)
        yield self._route("/api/runner/watch", WatchRequest, self._watch)
        run = "/api/runner/runs/{run_id}"
        yield self._route(f"{run}/session", Message, self._session)
        yield self._route(f"{run}/native", NativeRequest, self._native)
        yield self._route(f"{run}/place", PlaceReport, self._place)
        yield self._route(f"{run}/reports", Reports, self._reports)

    def _route(self, path: str, model: type[Message], work: Work) -> Route:
        async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
            try:
                person = await self._person(scope)
                message = await self._read(scope, receive, model)
                body = await work(person, message, scope.get("path_params", {}).get("run_id", ""))
            except CallError as error:
                await answer(send, error.status, error.code, str(error))
                return
            await send_json(send, 200, body)

        def build(_: object) -> Asgi:
            return app

        return Route(path=path, build=build, methods=("POST",))

    async def _person(self, scope: Any) -> Agent:  # noqa: ANN401
        person = await self._people.person_of(bearer(scope["headers"]) or "")
        if person is None:
            raise self._ctx.refuse("ui_token_required", 401)
        return person

    async def _read(self, scope: Any, receive: Any, model: type[Message]) -> Message:  # noqa: ANN401
        try:
            body = await read_json(receive, empty={})
        except BadJson as error:
            raise self._ctx.refuse("bad_message", 400, reason=error) from None
        if not says_json(scope):
            raise self._ctx.refuse("bad_message", 415, reason="application/json")
        try:
            return model.model_validate(body)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise self._ctx.refuse("bad_message", 400, reason=f"{where}: {first['msg']}") from None

    async def _claim(self, person: Agent, asked: ClaimRequest, _: str) -> Json:
        found = await self._runners.claim(person, asked)
        return {"runs": [given.as_json() for given in found]}

    async def _watch(self, person: Agent, asked: WatchRequest, _: str) -> Json:
        seen = await self._runners.watch(person, asked)
        return {"runs": {run_id: asdict(sight) for run_id, sight in seen.items()}}

    async def _session(self, person: Agent, asked: Message, run_id: str) -> Json:
        session_id, token = await self._runners.open_session(person, asked.owner, run_id)
        return {"session_id": session_id, "token": token}

    async def _native(self, person: Agent, asked: NativeRequest, run_id: str) -> Json:
        answer = await self._runners.judge(person, asked, run_id)
        return {"allowed": answer.allowed, "text": answer.text}

    async def _place(self, person: Agent, asked: PlaceReport, run_id: str) -> Json:
        return {"taken": await self._runners.take(person, asked, run_id)}

    async def _reports(self, person: Agent, asked: Reports, run_id: str) -> Json:
        return {"applied": await self._runners.apply(person, asked, run_id)}
