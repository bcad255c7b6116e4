"""Takes delegations back from chat sessions that are gone."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import anyio
from aipm_sessions.api import SessionDesk

from aipm_core import Json, PluginContext, Session, Tx, background
from aipm_core.models import Purpose
from aipm_delegation.config import DelegationConfig
from aipm_delegation.ledger import Delegation, Ledger
from aipm_delegation.notice import Notice

_LONGEST_PAUSE = 1.0
_BATCH = 200


class Leases:
    """A ``SessionObserver``, and the upkeep for sessions that fell silent without ending."""

    def __init__(
        self,
        ctx: PluginContext[DelegationConfig],
        ledger: Ledger,
        desk: SessionDesk,
        notice: Notice,
    ) -> None:
        self._ctx = ctx
        self._ledger = ledger
        self._desk = desk
        self._notice = notice

    async def purpose_for(self, tx: Tx, agent_id: str, project_id: str) -> Purpose | None:
        """Have no opinion."""
        return None

    async def opened(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Do nothing: a new session asks for its work."""
        return {}

    async def closed(self, tx: Tx, session: Session, reason: str) -> None:
        """Take back what the session had not finished."""
        if session.purpose == "chat":
            for delegation in await self._ledger.held_by(tx, session.id):
                await self._take_back(tx, delegation)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Watch over the leases while the runtime lives."""
        async with background(delegation_leases=self._upkeep):
            yield

    async def _upkeep(self) -> None:
        while True:
            await anyio.sleep(min(_LONGEST_PAUSE, self._ctx.config.lease_seconds / 4))
            rows = await self._ctx.store.all(
                "select id from chat_delegations where status = 'processing' "
                "and leased_until <= ? limit ?",
                *(self._ctx.clock(), _BATCH),
            )
            for row in rows:
                await self._ctx.store.write(partial(self._review, delegation_id=row["id"]))

    async def _review(self, tx: Tx, delegation_id: str) -> None:
        """Prolong the lease of a session that was heard of, else take the delegation back."""
        delegation = await self._ledger.find(tx, delegation_id)
        if delegation is None or delegation.status != "processing":
            return
        holder = await self._desk.find(tx, delegation.chat_session_id or "")
        until = holder.last_seen + self._ctx.config.lease_seconds if holder else 0.0
        if until > self._ctx.clock():
            await self._ledger.prolong(tx, delegation.id, until)
        else:
            await self._take_back(tx, delegation)

    async def _take_back(self, tx: Tx, delegation: Delegation) -> None:
        if delegation.attempts < self._ctx.config.max_attempts:
            await self._ledger.give_back(tx, delegation)
            return
        reason = self._ctx.texts("notices.given_up", attempts=delegation.attempts)
        await self._ledger.finish(tx, delegation, "failed", reason)
        await self._notice.send(tx, delegation, "failed", reason)
