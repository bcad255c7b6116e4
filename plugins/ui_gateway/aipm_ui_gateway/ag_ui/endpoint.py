"""``POST /ag-ui``: for front ends that speak the AG-UI protocol."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

import anyio
from aipm_http_server.api import answer
from aipm_sessions.api import Agent

from aipm_core import CallError, InvalidArguments, Json, PluginContext
from aipm_ui_gateway.ag_ui.threads import Thread, Threads
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.connection import Connection, Connections
from aipm_ui_gateway.endpoints.event_stream import on_one_line
from aipm_ui_gateway.endpoints.post_command import frame_of
from aipm_ui_gateway.first_of import first_of
from aipm_ui_gateway.identity import Identity
from aipm_ui_gateway.ui_commands.dispatch import Dispatch

if TYPE_CHECKING:
    from ag_ui.core import RunAgentInput

_HEADERS = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no")]


class AgUiEndpoint:
    """An ASGI application that carries out AG-UI runs, with or without a path to an agent."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        connections: Connections,
        identity: Identity,
        dispatch: Dispatch,
        threads: Threads,
    ) -> None:
        self._ctx = ctx
        self._connections = connections
        self._identity = identity
        self._dispatch = dispatch
        self._threads = threads

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401
        """Carry out one run."""
        try:
            self._identity.query(scope)
            person = await self._identity.person(self._identity.token(scope))
            given = self._checked(await frame_of(self._ctx, scope, receive))
            partner = _partner(scope.get("path_params", {}), given.forwarded_props)
            thread = await self._threads.open(person, given.thread_id, partner)
            async with self._connections.connect(person) as connection:
                await self._run(connection, given, thread, receive, send)
        except CallError as error:
            await answer(send, error.status, error.code, str(error))

    def _checked(self, body: Json) -> RunAgentInput:
        """Read the run; the package costs a quarter of a second to import, so only here."""
        try:
            from ag_ui.core import RunAgentInput
        except ImportError:
            raise self._ctx.refuse("ag_ui_unavailable", 501) from None
        from pydantic import ValidationError

        try:
            given = RunAgentInput.model_validate(body)
        except ValidationError as error:
            raise self._ctx.invalid(error) from None
        for name in (given.thread_id, given.run_id):
            if not 0 < len(name) <= 256:  # noqa: PLR2004 - a name, not a text
                raise InvalidArguments("threadId and runId: 1-256 characters")
        return given

    async def _run(
        self,
        connection: Connection,
        given: RunAgentInput,
        thread: Thread,
        receive: Any,  # noqa: ANN401
        send: Any,  # noqa: ANN401
    ) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        try:
            finished = await first_of(
                self._stream(connection, given, thread, send), _until_gone(receive)
            )
        except (TimeoutError, OSError):
            finished = False
        if finished:
            await send({"type": "http.response.body", "body": b""})
        else:
            await self._cancel(connection.person, thread)

    async def _stream(
        self,
        connection: Connection,
        given: RunAgentInput,
        thread: Thread,
        send: Any,  # noqa: ANN401
    ) -> bool:
        from ag_ui.encoder import EventEncoder

        from aipm_ui_gateway.ag_ui.runs import AgUiRuns

        encoder, runs = EventEncoder(), AgUiRuns(self._ctx, self._dispatch, self._threads)
        try:
            async for event in runs.events(connection, given, thread):
                body = on_one_line(encoder.encode(event).encode())
                async with asyncio.timeout(self._ctx.config.drain_seconds):
                    await send({"type": "http.response.body", "body": body, "more_body": True})
        except anyio.EndOfStream:
            return True
        return True

    async def _cancel(self, person: Agent, thread: Thread) -> None:
        """Stop the agent: AG-UI clients cancel a run by closing its stream."""
        payload = {"sessionId": thread.session_id}
        order = {"id": secrets.token_hex(8), "type": "cancelRun", "payload": payload}
        await self._dispatch.run(person, order)


def _partner(path: Any, props: Any) -> tuple[str, str] | None:  # noqa: ANN401
    """Return the project and agent that the path or the forwarded properties name."""
    source = path or (props if isinstance(props, dict) else {})
    project, agent = source.get("projectId"), source.get("agentId")
    return (project, agent) if isinstance(project, str) and isinstance(agent, str) else None


async def _until_gone(receive: Any) -> bool:  # noqa: ANN401
    while (await receive())["type"] != "http.disconnect":
        pass
    return False
