"""Reads conversations, for this plugin and for others."""

from __future__ import annotations

from aipm_conversations.api import Conversation, ConversationHooks, Origin
from aipm_conversations.config import ConversationsConfig
from aipm_core import PluginContext, Reader, Row, Session, Tx

_SELECT = "select * from conversations where "


class ConversationQueries:
    """The ``Conversations`` service."""

    def __init__(self, ctx: PluginContext[ConversationsConfig]) -> None:
        self._ctx = ctx

    async def origin_of(self, tx: Tx, session: Session, participant_id: str) -> Origin:
        """Say what a new conversation is bound to."""
        for owned in self._ctx.given(ConversationHooks.aipm_conversation_tasks):
            if (origin := await owned.record.origin_of(tx, session, participant_id)) is not None:
                return origin
        return Origin(task_id=None)

    async def of_task(self, db: Reader, task_id: str) -> list[Conversation]:
        """List the conversations bound to a task, oldest first."""
        rows = await db.all(_SELECT + "task_id = ? order by created_at, id", task_id)
        return [_conversation(row) for row in rows]

    async def of_delegation(self, db: Reader, delegation_id: str) -> list[Conversation]:
        """List the conversations a delegation led to, oldest first."""
        rows = await db.all(_SELECT + "delegation_id = ? order by created_at, id", delegation_id)
        return [_conversation(row) for row in rows]

    async def open_between(
        self, db: Reader, project_id: str, one: str, other: str
    ) -> Conversation | None:
        """Find the conversation two agents are in now; one that is overdue counts as over."""
        found = await self.standing_between(db, project_id, one, other)
        return None if found is None or self.is_over(found) else found

    async def standing_between(
        self, db: Reader, project_id: str, one: str, other: str
    ) -> Conversation | None:
        """Find the conversation of two agents that nobody has ended, overdue or not."""
        row = await db.one(
            _SELECT + "project_id = ? and first_id = ? and second_id = ? "
            "and state in ('pending', 'active')",
            *(project_id, min(one, other), max(one, other)),
        )
        return _conversation(row) if row else None

    async def find(self, db: Reader, conversation_id: str) -> Conversation | None:
        """Find a conversation."""
        row = await db.one(_SELECT + "id = ?", conversation_id)
        return _conversation(row) if row else None

    async def takes_part(self, db: Reader, session: Session, conversation_id: str) -> bool:
        """Return whether there is such a conversation, and the session's agent takes part in it."""
        found = await self.find(db, conversation_id)
        if found is None or found.project_id != session.project_id:
            return False
        return session.agent_id in (found.initiator_id, found.participant_id)

    async def offered_to(self, db: Reader, project_id: str, agent_id: str) -> list[Conversation]:
        """List an agent's open conversations that no chat session of it attends, oldest first."""
        rows = await db.all(
            "select c.* from conversation_sides s join conversations c on c.id = s.conversation_id "
            "where s.project_id = ? and s.agent_id = ? and s.told_at is null "
            "and s.session_id is null and c.state in ('pending', 'active') and c.due_at > ? "
            "order by c.created_at, c.id",
            *(project_id, agent_id, self._ctx.clock()),
        )
        return [_conversation(row) for row in rows]

    async def untold_to(self, db: Reader, project_id: str, agent_id: str) -> Conversation | None:
        """Find the oldest conversation of whose end an agent has not been told."""
        row = await db.one(
            "select c.* from conversation_sides s join conversations c on c.id = s.conversation_id "
            "where s.project_id = ? and s.agent_id = ? and s.told_at is null "
            "and c.ended_at is not null order by c.ended_at, c.id",
            *(project_id, agent_id),
        )
        return _conversation(row) if row else None

    def is_over(self, conversation: Conversation) -> bool:
        """Return whether it has ended, or its time is up and nobody has noted it yet."""
        return conversation.over or conversation.due_at <= self._ctx.clock()


def _conversation(row: Row) -> Conversation:
    return Conversation(
        id=row["id"],
        project_id=row["project_id"],
        initiator_id=row["initiator_id"],
        participant_id=row["participant_id"],
        purpose=row["purpose"],
        state=row["state"],
        turns=row["turns"],
        max_turns=row["max_turns"],
        task_id=row["task_id"],
        delegation_id=row["delegation_id"],
        created_at=row["created_at"],
        due_at=row["due_at"],
        ended_at=row["ended_at"],
        ended_by=row["ended_by"],
        end_reason=row["end_reason"],
    )
