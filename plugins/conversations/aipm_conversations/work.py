"""What conversations give a chat session to do: invitations, and ends it has not heard of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from aipm_file_chat.api import Chat
from aipm_sessions.api import Need, SessionDesk

from aipm_conversations.api import Conversation, topic
from aipm_conversations.archive import Archive
from aipm_conversations.book import Book
from aipm_conversations.config import ConversationsConfig
from aipm_core import Json, PluginContext, Reader, Session, Tx
from aipm_core.models import Purpose


class Requests:
    """Offers an agent's open conversations that no chat session of it attends.

    That is an invitation nobody has noticed, or one whose session is gone: then the next session
    gets what was said so far, because it remembers nothing. It is also a ``PendingExtra``:
    reading the first message is taking notice too. Otherwise an agent that reads before it asks
    for its next action would answer in a pending conversation.
    """

    name = "conversation_request"
    purpose: Purpose = "chat"
    rank = 5

    def __init__(
        self,
        ctx: PluginContext[ConversationsConfig],
        archive: Archive,
        book: Book,
        chat: Chat,
        desk: SessionDesk,
    ) -> None:
        self._ctx = ctx
        self._desk = desk
        self._archive = archive
        self._book = book
        self._chat = chat

    def topics(self, session: Session) -> tuple[str, ...]:
        """Wake for changes of this agent's conversations."""
        return (topic(session.project_id, session.agent_id),)

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Return the oldest one offered, and note that this session attends it."""
        store, me = self._ctx.store, session.agent_id
        for offered in await self._archive.offered_to(store, session.project_id, me):
            if await store.write(partial(self._book.attend, conversation=offered, session=session)):
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
                purpose=self.purpose,
                reason=self.name,
            )
            for row in rows
        ]

    async def fields(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Note that the agent reads its messages; nothing is added to the reply."""
        me = session.agent_id
        await self._desk.check_open(tx, session)
        for offered in await self._archive.offered_to(tx, session.project_id, me):
            if offered.state == "pending" and me == offered.participant_id:
                await self._book.attend(tx, offered, session)
        return {}

    def _invitation(self, offered: Conversation) -> Mapping[str, Json]:
        text = self._ctx.texts("work.conversation_request", initiator=offered.initiator_id)
        return {**self._shown(offered), "instruction": text}

    async def _resumption(self, offered: Conversation, me: str) -> Mapping[str, Json]:
        said = await self._chat.of_conversation(self._ctx.store, offered.id)
        partner = offered.partner_of(me)
        return {
            **self._shown(offered),
            "partner_agent_id": partner,
            "turns": offered.turns,
            "messages": [{"id": m.id, "senderId": m.sender_id, "content": m.content} for m in said],
            "instruction": self._ctx.texts("work.conversation_resumed", partner=partner),
        }

    def _shown(self, offered: Conversation) -> dict[str, Json]:
        return {
            "action": self.name,
            "conversation_id": offered.id,
            "initiator_agent_id": offered.initiator_id,
            "purpose": offered.purpose,
            "max_turns": offered.max_turns,
        }


class Endings:
    """Tells each side once that a conversation is over, who ended it, and why."""

    name = "conversation_ended"
    purpose: Purpose = "chat"
    rank = 10

    def __init__(
        self,
        ctx: PluginContext[ConversationsConfig],
        archive: Archive,
        book: Book,
    ) -> None:
        self._ctx = ctx
        self._archive = archive
        self._book = book

    def topics(self, session: Session) -> tuple[str, ...]:
        """Wake for changes of this agent's conversations."""
        return (topic(session.project_id, session.agent_id),)

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Return the oldest end this agent has not heard of, and note that it has now."""
        store, me = self._ctx.store, session.agent_id
        over = await self._archive.untold_to(store, session.project_id, me)
        if over is None:
            return None
        hear = partial(self._book.hear, conversation_id=over.id, session=session)
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
                "work.conversation_ended", ended_by=over.ended_by, reason=reason
            ),
        }

    async def needs(self, db: Reader) -> list[Need]:
        """Ask for nobody: no session is started only to hear that something is over."""
        return []
