"""Logs and changes of runs over HTTP, for people with a user-interface token."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from aipm_http_server.api import Asgi, Route, answer, bearer, send_json
from aipm_sessions.api import DIRECTORY, PEOPLE

from aipm_core import CallError, Json, PluginContext
from aipm_runner.config import RunnerConfig
from aipm_runner.log_lines import shown
from aipm_runner.runs import Run
from aipm_runner.service import RunService

Work: TypeAlias = Callable[[Any, Run], Awaitable[Json]]
_LONGEST_NUMBER = 18
_LONGEST_WAIT_SECONDS = 25


class Routes:
    """A run of a project one is no member of is as unknown as one that is not."""

    def __init__(self, ctx: PluginContext[RunnerConfig], service: RunService) -> None:
        self._ctx = ctx
        self._service = service
        self._people = ctx.services.use(PEOPLE)
        self._directory = ctx.services.use(DIRECTORY)

    def all(self) -> Iterable[Route]:
        """List the routes."""
        yield Route(path="/api/runs/{run_id}/log", build=lambda _: self._app(self._log))
        yield Route(path="/api/runs/{run_id}/diff", build=lambda _: self._app(self._diff))

    def _app(self, work: Work) -> Asgi:
        async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
            try:
                body = await work(scope, await self._run(scope))
            except CallError as error:
                await answer(send, error.status, error.code, str(error))
                return
            await send_json(send, 200, body)

        return app

    async def _run(self, scope: Any) -> Run:  # noqa: ANN401
        person = await self._people.person_of(bearer(scope["headers"]) or "")
        if person is None:
            raise self._ctx.refuse("ui_token_required", 401)
        run_id = scope["path_params"]["run_id"]
        run = await self._service.get(run_id)
        if not await self._directory.is_member(self._ctx.store, person.id, run.project_id):
            raise self._ctx.refuse("run_not_found", 404, run_id=run_id)
        return run

    async def _log(self, scope: Any, run: Run) -> Json:  # noqa: ANN401
        """Return the lines after one; with ``wait`` not before there is one, or the run ends."""
        query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        after = self._number(query, "after")
        if seconds := min(self._number(query, "wait"), _LONGEST_WAIT_SECONDS):
            await self._service.log.wait(run.id, after, seconds)
            run = await self._service.get(run.id)
        lines: list[Json] = [shown(line) for line in await self._service.log.after(run.id, after)]
        return {"run_id": run.id, "lines": lines, "ended": run.ended_at is not None}

    def _number(self, query: dict[str, list[str]], name: str) -> int:
        text = query.get(name, ["0"])[-1]
        if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
            raise self._ctx.refuse("invalid_number", 400, name=name)
        return int(text)

    async def _diff(self, scope: Any, run: Run) -> Json:  # noqa: ANN401
        return {"run_id": run.id, **await self._service.changes.files(run)}
