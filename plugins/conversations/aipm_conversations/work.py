"""What conversations give a chat session to do: invitations, and ends it has not heard of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from aipm_file_chat.api import Chat
from aipm_sessions.api import Need, SessionStore

from aipm_conversations.api import Conversation, topic
from aipm_conversations.config import ConversationsConfig
from aipm_conversations.queries import ConversationQueries
from aipm_conversations.transitions import Transitions
from aipm_core import Json, PluginContext, Reader, Session, Tx


class Invitations:
    """Offers an agent's open conversations that no chat session of it attends.

    That is an invitation nobody has noticed, or one whose session is gone: then the next session
    gets what was said so far, because it remembers nothing. It also gives ``fields``:
    reading the first message is taking notice too. Otherwise an agent that reads before it asks
    for its next action would answer in a pending conversation.
    """

    name = "conversation_request"

    def __init__(
        self,
        ctx: PluginContext[ConversationsConfig],
        queries: ConversationQueries,
        transitions: Transitions,
        chat: Chat,
        sessions: SessionStore,
    ) -> None:
        self._ctx = ctx
        self._sessions = sessions
        self._queries = queries
        self._transitions = transitions
        self._chat = chat

    def topics(self, session: Session) -> tuple[str, ...]:
        """Wake for changes of this agent's conversations."""
        return (topic(session.project_id, session.agent_id),)

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Return the oldest one offered, and note that this session attends it."""
        store, me = self._ctx.store, session.agent_id
        for offered in await self._queries.offered_to(store, session.project_id, me):
            if await store.write(
                partial(self._transitions.attend, conversation=offered, session=session)
            ):
                if offered.state == "pending" and me == offered.participant_id:
                    return self._invitation(offered)
                return await self._resumption(offered, me)
        return None

    async def needs(self, db: Reader) -> list[Need]:
        """List whom a conversation waits for."""
        rows = await db.all(
            "select distinct s.project_id, s.agent_id from conversations c "
            "join conversation_sides s on s.conversation_id = c.id "
            "where c.state in ('pending', 'active') and c.due_at > ? and s.session_id is null "
            "order by s.project_id, s.agent_id",
            self._ctx.clock(),
        )
        return [
            Need(
                agent_id=row["agent_id"],
                project_id=row["project_id"],
                purpose="chat",
                reason=self.name,
            )
            for row in rows
        ]

    async def fields(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Note that the agent reads its messages; nothing is added to the reply."""
        me = session.agent_id
        await self._sessions.check_open(tx, session)
        for offered in await self._queries.offered_to(tx, session.project_id, me):
            if offered.state == "pending" and me == offered.participant_id:
                await self._transitions.attend(tx, offered, session)
        return {}

    def _invitation(self, offered: Conversation) -> Mapping[str, Json]:
        return {
            **self._shown(offered),
            "instruction": self._ctx.texts(
                "instructions.conversation_request", initiator=offered.initiator_id
            ),
        }

    async def _resumption(self, offered: Conversation, me: str) -> Mapping[str, Json]:
        said = await self._chat.of_conversation(self._ctx.store, offered.id)
        partner = offered.partner_of(me)
        return {
            **self._shown(offered),
            "partner_agent_id": partner,
            "turns": offered.turns,
            "messages": [{"id": m.id, "senderId": m.sender_id, "content": m.content} for m in said],
            "instruction": self._ctx.texts("instructions.conversation_resumed", partner=partner),
        }

    def _shown(self, offered: Conversation) -> dict[str, Json]:
        return {
            "action": self.name,
            "conversation_id": offered.id,
            "initiator_agent_id": offered.initiator_id,
            "purpose": offered.purpose,
            "max_turns": offered.max_turns,
        }


class EndNotices:
    """Tells each side once that a conversation is over, who ended it, and why."""

    name = "conversation_ended"

    def __init__(
        self,
        ctx: PluginContext[ConversationsConfig],
        queries: ConversationQueries,
        transitions: Transitions,
    ) -> None:
        self._ctx = ctx
        self._queries = queries
        self._transitions = transitions

    def topics(self, session: Session) -> tuple[str, ...]:
        """Wake for changes of this agent's conversations."""
        return (topic(session.project_id, session.agent_id),)

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Return the oldest end this agent has not heard of, and note that it has now."""
        store, me = self._ctx.store, session.agent_id
        over = await self._queries.untold_to(store, session.project_id, me)
        if over is None:
            return None
        hear = partial(self._transitions.hear, conversation_id=over.id, session=session)
        return self._shown(over, me) if await store.write(hear) else None

    def _shown(self, over: Conversation, me: str) -> dict[str, Json]:
        reason = self._ctx.texts(f"reasons.{over.end_reason}")
        return {
            "action": self.name,
            "conversation_id": over.id,
            "partner_agent_id": over.partner_of(me),
            "state": over.state,
            "ended_by": over.ended_by,
            "reason": over.end_reason,
            "turns": over.turns,
            "instruction": self._ctx.texts(
                "instructions.conversation_ended", ended_by=over.ended_by, end_reason=reason
            ),
        }

    async def needs(self, db: Reader) -> list[Need]:
        """Ask for nobody: no session is started only to hear that something is over."""
        return []
