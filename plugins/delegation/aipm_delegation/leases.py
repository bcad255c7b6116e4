"""Takes delegations back from chat sessions that are gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import anyio
from aipm_sessions.api import SessionStore

from aipm_core import PluginContext, Session, Tx, background
from aipm_delegation.config import DelegationConfig
from aipm_delegation.delegation_store import Delegation, DelegationStore
from aipm_delegation.notice import Notice

_MAX_PAUSE_SECONDS = 1.0
_BATCH = 200


class Leases:
    """What ended sessions give back, and those that fell silent without ending."""

    def __init__(
        self,
        ctx: PluginContext[DelegationConfig],
        delegation_store: DelegationStore,
        sessions: SessionStore,
        notice: Notice,
    ) -> None:
        self._ctx = ctx
        self._delegation_store = delegation_store
        self._sessions = sessions
        self._notice = notice

    async def closed(self, tx: Tx, session: Session, reason: str) -> None:
        """Take back what the session had not finished."""
        if session.purpose == "chat":
            for delegation in await self._delegation_store.held_by(tx, session.id):
                await self._take_back(tx, delegation)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Watch over the leases while the runtime lives."""
        async with background(delegation_leases=self._upkeep):
            yield

    async def _upkeep(self) -> None:
        while True:
            await anyio.sleep(min(_MAX_PAUSE_SECONDS, self._ctx.config.lease_seconds / 4))
            rows = await self._ctx.store.all(
                "select id from chat_delegations where status = 'processing' "
                "and leased_until <= ? limit ?",
                *(self._ctx.clock(), _BATCH),
            )
            for row in rows:
                await self._ctx.store.write(partial(self._review, delegation_id=row["id"]))

    async def _review(self, tx: Tx, delegation_id: str) -> None:
        """Prolong the lease of a session that was heard of, else take the delegation back."""
        delegation = await self._delegation_store.find(tx, delegation_id)
        if delegation is None or delegation.status != "processing":
            return
        holder = await self._sessions.find(tx, delegation.chat_session_id or "")
        until = holder.last_seen + self._ctx.config.lease_seconds if holder else 0.0
        if until > self._ctx.clock():
            await self._delegation_store.prolong(tx, delegation.id, until)
        else:
            await self._take_back(tx, delegation)

    async def _take_back(self, tx: Tx, delegation: Delegation) -> None:
        if delegation.attempts < self._ctx.config.max_attempts:
            await self._delegation_store.give_back(tx, delegation)
            return
        reason = self._ctx.texts("notices.given_up", attempts=delegation.attempts)
        await self._delegation_store.finish(tx, delegation, "failed", reason)
        await self._notice.send(tx, delegation, "failed", reason)
