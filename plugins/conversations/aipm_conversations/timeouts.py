"""Ends conversations that stand still, or whose one side has gone away."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import anyio
from aipm_sessions.api import SessionStore

from aipm_conversations.api import topic
from aipm_conversations.config import ConversationsConfig
from aipm_conversations.queries import ConversationQueries
from aipm_conversations.transitions import SYSTEM, Transitions
from aipm_core import Json, PluginContext, Session, Tx, background

_MAX_PAUSE_SECONDS = 1.0
_BATCH = 200


class Timeouts:
    """Notes which side is gone, and the upkeep that ends things."""

    def __init__(
        self,
        ctx: PluginContext[ConversationsConfig],
        queries: ConversationQueries,
        transitions: Transitions,
        sessions: SessionStore,
    ) -> None:
        self._ctx = ctx
        self._queries = queries
        self._transitions = transitions
        self._sessions = sessions

    async def opened(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Take an agent that has a chat session again off the list of the lost."""
        if session.purpose == "chat":
            await tx.run(
                "update conversation_sides set lost_at = null "
                "where project_id = ? and agent_id = ? and told_at is null "
                "and lost_at is not null",
                *(session.project_id, session.agent_id),
            )
        return {}

    async def closed(self, tx: Tx, session: Session, reason: str) -> None:
        """Offer what the session attended to the next one; note who has no chat session left."""
        if session.purpose != "chat":
            return
        side = (session.project_id, session.agent_id)
        await tx.run(
            "update conversation_sides set session_id = null where project_id = ? "
            "and agent_id = ? and told_at is null and session_id = ?",
            *(*side, session.id),
        )
        if not await self._has_chat_session(tx, session):
            await tx.run(
                "update conversation_sides set lost_at = ? where project_id = ? "
                "and agent_id = ? and told_at is null and conversation_id in "
                "(select id from conversations where state in ('pending', 'active'))",
                *(self._ctx.clock(), *side),
            )
        tx.wake(topic(*side))

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """End what is due while the runtime lives."""
        async with background(conversations_upkeep=self._upkeep):
            yield

    async def _upkeep(self) -> None:
        config = self._ctx.config
        shortest = min(config.pending_seconds, config.active_seconds)
        while True:
            await anyio.sleep(min(_MAX_PAUSE_SECONDS, shortest / 4))
            await self._sweep()

    async def _sweep(self) -> None:
        now = self._ctx.clock()
        due = await self._ctx.store.all(
            "select id from conversations where state in ('pending', 'active') and due_at <= ? "
            "limit ?",
            *(now, _BATCH),
        )
        for row in due:
            await self._ctx.store.write(partial(self._time_out, conversation_id=row["id"]))
        lost = await self._ctx.store.all(
            "select s.conversation_id, s.agent_id from conversation_sides s "
            "join conversations c on c.id = s.conversation_id "
            "where s.lost_at <= ? and c.state in ('pending', 'active') limit ?",
            *(now - self._ctx.config.session_lost_seconds, _BATCH),
        )
        for row in lost:
            await self._ctx.store.write(
                partial(
                    self._give_up,
                    conversation_id=row["conversation_id"],
                    agent_id=row["agent_id"],
                )
            )

    async def _time_out(self, tx: Tx, conversation_id: str) -> None:
        found = await self._queries.find(tx, conversation_id)
        if found and not found.over and self._queries.is_over(found):
            await self._transitions.end(tx, found, "timeout", by=SYSTEM)

    async def _give_up(self, tx: Tx, conversation_id: str, agent_id: str) -> None:
        """End for a lost session, unless the agent came back meanwhile."""
        found = await self._queries.find(tx, conversation_id)
        still = await tx.one(
            "select 1 from conversation_sides "
            "where conversation_id = ? and agent_id = ? and lost_at is not null",
            *(conversation_id, agent_id),
        )
        if found and not found.over and still:
            await self._transitions.end(tx, found, "session_lost", by=agent_id)

    async def _has_chat_session(self, tx: Tx, session: Session) -> bool:
        live = await self._sessions.live(tx, session.project_id, session.agent_id)
        return any(info.session.purpose == "chat" for info in live)
