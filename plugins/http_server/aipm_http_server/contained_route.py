"""A plugin's route: what escapes it is logged with its plugin, and the client learns a number."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from aipm_core import Owned, StoreUnavailable, new_incident
from aipm_http_server.bodies import BodyTooLarge
from aipm_http_server.records import Asgi, Route
from aipm_http_server.responses import answer

logger = logging.getLogger(__name__)
_BEGUN = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})
_SENTENCE = "this part of the server failed; the log tells more under {incident}"
_INTERNAL_ERROR = 1011  # of WebSockets


class ContainedRoute:
    """One route, held to its deadline until its answer begins."""

    def __init__(self, owned: Owned[Route], app: Asgi) -> None:
        self._owned = owned
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Answer a request; whatever goes wrong, there is an answer or an end."""
        limit = asyncio.timeout(self._owned.record.deadline)
        begun = False

        async def noting(message: Any) -> None:  # noqa: ANN401
            nonlocal begun
            if not begun and message["type"] in _BEGUN:
                begun = True
                limit.reschedule(None)
            await send(message)

        try:
            async with limit:
                await self._app(scope, receive, noting)
        except (BodyTooLarge, StoreUnavailable):
            raise  # the guard in front answers for these
        except BaseException as error:
            problem = self._problem(error, limit)
            if problem is None:
                raise
            await self._fail(problem, begun, scope, send)

    def _problem(self, error: BaseException, limit: asyncio.Timeout) -> str | None:
        """Say what went wrong; nothing if it is our own doing that the request ends."""
        if limit.expired():
            return f"did not begin to answer within {self._owned.record.deadline} s"
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            return None
        return None if isinstance(error, GeneratorExit) else f"failed: {error!r}"

    async def _fail(self, problem: str, begun: bool, scope: Any, send: Any) -> None:  # noqa: ANN401
        plugin, incident = self._owned.plugin, new_incident()
        words, about = "plugin %s: route %s %s [%s]", {"plugin": plugin, "incident": incident}
        values = (plugin, self._owned.record.path, problem, incident)
        logger.error(words, *values, exc_info=problem.startswith("failed"), extra=about)
        sentence = _SENTENCE.format(incident=incident)
        if not begun:
            await answer(send, 500, "internal_error", sentence, scope=scope)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _INTERNAL_ERROR, "reason": incident})
        else:
            raise ConnectionAbortedError(sentence)  # half an answer must not look like a whole one
