"""One user interface: its person, the sessions it is attached to, and what goes out to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio
from aipm_sessions.api import Agent

from aipm_core import Json, PluginContext
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.follow_access import FollowAccess
from aipm_ui_gateway.following import Following, Frame, envelope
from aipm_ui_gateway.limits import Limits
from aipm_ui_gateway.ui_commands.dispatch import Answer, Dispatch
from aipm_ui_gateway.ui_commands.payloads import OpenSession

logger = logging.getLogger(__name__)
_NEWS = ""  # no session has an empty id
_OWN = "uis_"


class Connection:
    """Frames in, frames out. Nothing is queued: who does not take a frame holds up only itself."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        dispatch: Dispatch,
        follow_access: FollowAccess,
        person: Agent,
    ) -> None:
        self.person = person
        self._ctx = ctx
        self._dispatch = dispatch
        self._follow_access = follow_access
        self._inlet, self._outlet = anyio.create_memory_object_stream[Frame](0)
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def command(self, frame: Json) -> Mapping[str, Json]:
        """Give a command; return its ack or error."""
        return (await self.serve(frame, _nowhere)).reply

    async def serve(self, frame: Json, deliver: Callable[[Frame], Awaitable[None]]) -> Answer:
        """Carry out a command and deliver its answer before any event that follows from it."""
        answer = await self._dispatch.run(self.person, frame, self._only_session())
        await deliver(answer.reply)
        if answer.done and answer.command is not None and answer.command.type == "openSession":
            opened = OpenSession.model_validate(answer.command.payload)
            after = opened.lastSeq if opened.lastSeq is not None else answer.reply["lastSeq"]
            self.attach(answer.reply["sessionId"], after)
        return answer

    async def receive(self) -> Frame:
        """Return the next frame; raises ``anyio.EndOfStream`` after the last one."""
        return await self._outlet.receive()

    def attach(self, session_id: str, after: int) -> None:
        """Follow a session from a place on; an earlier place of the same session is left."""
        if (earlier := self._tasks.pop(session_id, None)) is not None:
            earlier.cancel()
        following = Following(self._ctx, self._follow_access, self.person, session_id, after)
        self._start(session_id, following.run(self._inlet.send))

    def _only_session(self) -> str | None:
        own = [session_id for session_id in self._tasks if session_id.startswith(_OWN)]
        return own[0] if len(own) == 1 else None

    async def _tell_news(self, after: int) -> None:
        async with aclosing(self._ctx.gateway.news(after)) as news:
            async for event in news:
                await self._inlet.send(envelope(event, None))
        await self._inlet.send({"type": "server_stopping"})
        self._inlet.close()

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks[name] = task
        task.add_done_callback(lambda _: self._done(name, task))

    def _done(self, name: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            # The client comes back with its last place; here nothing can be made good.
            if not isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError):
                logger.error("following %s failed", name or "system events", exc_info=error)
            self._inlet.close()

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[None]:
        """Hear system events from now on, until the block ends."""
        self._start(_NEWS, self._tell_news(await self._ctx.events.last_seq(None)))
        try:
            yield
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._inlet.close()
            self._outlet.close()


class Connections:
    """The ``UiPort`` service; every transport comes in here."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        dispatch: Dispatch,
        follow_access: FollowAccess,
        limits: Limits,
    ) -> None:
        self._ctx = ctx
        self._dispatch = dispatch
        self._follow_access = follow_access
        self._limits = limits

    @asynccontextmanager
    async def connect(self, person: Agent) -> AsyncGenerator[Connection]:
        """Connect as a person whose identity is established."""
        with self._limits.connection(person.id):
            connection = Connection(self._ctx, self._dispatch, self._follow_access, person)
            async with connection.opened():
                yield connection


async def _nowhere(_: Frame) -> None:
    """Deliver to a caller that gets the answer as a return value."""
