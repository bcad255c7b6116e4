"""Moves conversations from state to state."""

from __future__ import annotations

from aipm_sessions.api import SessionStore

from aipm_conversations.api import Conversation, EndReason, State, topic
from aipm_conversations.config import ConversationsConfig
from aipm_conversations.queries import ConversationQueries
from aipm_core import PluginContext, Session, Tx, new_id

SYSTEM = "system"
"""Who ends what no agent ended. No agent can have this id."""


class Transitions:
    """Every change of a conversation, each inside its caller's transaction.

    The last wait of a session that has ended takes nothing from the one that comes after.
    """

    def __init__(
        self,
        ctx: PluginContext[ConversationsConfig],
        queries: ConversationQueries,
        sessions: SessionStore,
    ) -> None:
        self._ctx = ctx
        self._queries = queries
        self._sessions = sessions

    async def open(
        self, tx: Tx, session: Session, participant_id: str, purpose: str | None, max_turns: int
    ) -> Conversation:
        """Write down a new conversation; its first message comes with it."""
        origin = await self._queries.origin_of(tx, session, participant_id)
        me, made = session.agent_id, new_id("conv")
        await tx.run(
            "insert into conversations (id, project_id, initiator_id, participant_id, first_id, "
            "second_id, purpose, state, turns, max_turns, task_id, delegation_id, created_at, "
            "due_at) values (?, ?, ?, ?, ?, ?, ?, 'pending', 1, ?, ?, ?, ?, ?)",
            *(made, session.project_id, me, participant_id),
            *(min(me, participant_id), max(me, participant_id), purpose, max_turns),
            *(origin.task_id, origin.delegation_id, self._ctx.now()),
            self._ctx.clock() + self._ctx.config.pending_seconds,
        )
        for side, attending in ((me, session.id), (participant_id, None)):
            await tx.run(
                "insert into conversation_sides (conversation_id, agent_id, project_id, "
                "session_id) values (?, ?, ?, ?)",
                *(made, side, session.project_id, attending),
            )
        return await self._changed(tx, made)

    async def attend(self, tx: Tx, conversation: Conversation, session: Session) -> bool:
        """Note which chat session takes care of it; ``False`` if another one already does.

        A participant that takes notice makes a pending conversation active.
        """
        current = await self._queries.find(tx, conversation.id)
        if current is None or self._queries.is_over(current):
            return False
        if await self._sessions.find(tx, session.id) is None:
            return False
        took = await tx.run(
            "update conversation_sides set session_id = ? "
            "where conversation_id = ? and agent_id = ? and session_id is null",
            *(session.id, conversation.id, session.agent_id),
        )
        if took and session.agent_id == conversation.participant_id:
            await self._activate(tx, conversation.id)
        return bool(took)

    async def count_turn(
        self, tx: Tx, conversation: Conversation, session: Session
    ) -> Conversation:
        """Count a message of a side; who speaks attends, and an answer makes it active."""
        await tx.run(
            "update conversation_sides set session_id = ? "
            "where conversation_id = ? and agent_id = ?",
            *(session.id, conversation.id, session.agent_id),
        )
        if session.agent_id == conversation.participant_id:
            await self._activate(tx, conversation.id)
        await tx.run(
            "update conversations set turns = turns + 1, "
            "due_at = case state when 'active' then ? else due_at end where id = ?",
            *(self._ctx.clock() + self._ctx.config.active_seconds, conversation.id),
        )
        return await self._changed(tx, conversation.id)

    async def _activate(self, tx: Tx, conversation_id: str) -> None:
        await tx.run(
            "update conversations set state = 'active', due_at = ? "
            "where id = ? and state = 'pending'",
            *(self._ctx.clock() + self._ctx.config.active_seconds, conversation_id),
        )
        await self._changed(tx, conversation_id)

    async def end(
        self,
        tx: Tx,
        conversation: Conversation,
        reason: EndReason,
        *,
        by: str,
        told: str | None = None,
    ) -> Conversation:
        """End a conversation; ``told`` is the side that learns it from the reply to its call."""
        state: State = "ended"
        if conversation.state == "pending" and reason == "timeout":
            state = "expired"
        await tx.run(
            "update conversations set state = ?, ended_at = ?, ended_by = ?, end_reason = ? "
            "where id = ? and state in ('pending', 'active')",
            *(state, self._ctx.now(), by, reason, conversation.id),
        )
        if told is not None:
            await self._tell(tx, conversation.id, told)
        return await self._changed(tx, conversation.id)

    async def hear(self, tx: Tx, conversation_id: str, session: Session) -> bool:
        """Note that a session's side knows of the end; ``False`` if it knew, or nobody listens."""
        if await self._sessions.find(tx, session.id) is None:
            return False
        return await self._tell(tx, conversation_id, session.agent_id)

    async def _tell(self, tx: Tx, conversation_id: str, agent_id: str) -> bool:
        changed = await tx.run(
            "update conversation_sides set told_at = ? "
            "where conversation_id = ? and agent_id = ? and told_at is null",
            *(self._ctx.now(), conversation_id, agent_id),
        )
        return bool(changed)

    async def _changed(self, tx: Tx, conversation_id: str) -> Conversation:
        found = await self._queries.find(tx, conversation_id)
        assert found is not None  # noqa: S101 - written in this transaction  # nosec B101
        for side in (found.initiator_id, found.participant_id):
            tx.wake(topic(found.project_id, side))
        return found
