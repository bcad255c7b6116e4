"""Carries the events of one session to one connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TypeAlias

import anyio
from aipm_sessions.api import Agent, session_topic

from aipm_core import Json, PluginContext, StoredEvent, TooOld
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.first_of import first_of
from aipm_ui_gateway.follow_access import FollowAccess

Frame: TypeAlias = Mapping[str, Json]
_RECHECK_SECONDS = 3600.0


def envelope(event: StoredEvent, session_id: str | None) -> Frame:
    """Put an event into its form on the wire. The session is the one that is followed."""
    payload = {**event.payload, "sessionId": session_id} if session_id else event.payload
    return {
        "id": event.id,
        "seq": event.seq,
        "type": event.type,
        "timestamp": event.timestamp,
        "scope": event.scope,
        "payload": payload,
    }


class Following:
    """A place in a session's events, moving on until the session or the program ends."""

    def __init__(
        self,
        ctx: PluginContext[UiGatewayConfig],
        follow_access: FollowAccess,
        person: Agent,
        session_id: str,
        after: int,
    ) -> None:
        self._ctx = ctx
        self._follow_access = follow_access
        self._person = person
        self._session_id = session_id
        self._place = after
        self._end: int | None = None  # the last event of a session that has ended

    async def run(self, put: Callable[[Frame], Awaitable[None]]) -> None:
        """Put out events in order; tell when some are lost and when the session has ended."""
        if await self._ended():
            await put({"type": "session_closed", "sessionId": self._session_id})
            return
        with self._follow_access.attended(self._session_id):
            await first_of(self._carry(put), self._until_end())
        if self._end is not None:
            await put({"type": "session_closed", "sessionId": self._session_id})

    async def _carry(self, put: Callable[[Frame], Awaitable[None]]) -> None:
        while not self._ctx.store.ending:
            try:
                async with aclosing(
                    self._ctx.gateway.follow(self._session_id, self._place)
                ) as events:
                    async for event in events:
                        if event.scope == "session":
                            await put(envelope(event, self._session_id))
                            self._place = event.seq
                        if self._at_end():
                            return
            except TooOld:
                await put(await self._resync())
                if self._at_end():
                    return

    async def _resync(self) -> Frame:
        self._place = await self._ctx.events.last_seq(self._session_id)
        return {
            "type": "resync_required",
            "code": "resync_required",
            "sessionId": self._session_id,
            "lastSeq": self._place,
            "message": self._ctx.texts("errors.resync_required"),
        }

    def _at_end(self) -> bool:
        return self._end is not None and self._place >= self._end

    async def _until_end(self) -> None:
        """Return once the session has ended and everything it told was put out."""
        while await self._closed() is None:
            if self._ctx.store.ending:
                await anyio.sleep_forever()  # the other side of the race ends by itself
        self._end = await self._ctx.events.last_seq(self._session_id)
        if not self._at_end():
            await anyio.sleep_forever()  # carrying on to the last event ends the race

    async def _closed(self) -> bool | None:
        async def look() -> bool | None:
            return await self._ended() or None

        return await self._ctx.store.wait_until(
            (session_topic(self._session_id),), look, _RECHECK_SECONDS
        )

    async def _ended(self) -> bool:
        db = self._ctx.store
        return not await self._follow_access.may_follow(db, self._person, self._session_id)
