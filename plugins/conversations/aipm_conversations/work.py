"""What conversations give a chat session to do: invitations, and ends it has not heard of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from aipm_sessions.api import Need

from aipm_conversations.api import topic
from aipm_conversations.archive import Archive
from aipm_conversations.book import Book
from aipm_conversations.config import ConversationsConfig
from aipm_core import Json, PluginContext, Reader, Session, Tx
from aipm_core.models import Purpose


class Requests:
    """Offers invitations; taking notice makes a conversation active.

    It is also a ``PendingExtra``: reading the first message is taking notice too. Otherwise an
    agent that reads before it asks for its next action would answer in a pending conversation.
    """

    name = "conversation_request"
    purpose: Purpose = "chat"
    rank = 10

    def __init__(
        self, ctx: PluginContext[ConversationsConfig], archive: Archive, book: Book
    ) -> None:
        self._ctx = ctx
        self._archive = archive
        self._book = book

    def topics(self, session: Session) -> tuple[str, ...]:
        """Wake for changes of this agent's conversations."""
        return (topic(session.project_id, session.agent_id),)

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Return the oldest invitation, and note that it was seen."""
        store = self._ctx.store
        for request in await self._archive.requests_to(store, session.project_id, session.agent_id):
            if await store.write(partial(self._book.activate, conversation_id=request.id)):
                return {
                    "action": self.name,
                    "conversation_id": request.id,
                    "initiator_agent_id": request.initiator_id,
                    "purpose": request.purpose,
                    "max_turns": request.max_turns,
                    "instruction": self._ctx.texts(
                        "work.conversation_request", initiator=request.initiator_id
                    ),
                }
        return None

    async def needs(self, db: Reader) -> list[Need]:
        """List who has an invitation waiting."""
        rows = await db.all(
            "select distinct project_id, participant_id from conversations "
            "where state = 'pending' and due_at > ? order by project_id, participant_id",
            self._ctx.clock(),
        )
        return [
            Need(
                agent_id=row["participant_id"],
                project_id=row["project_id"],
                purpose=self.purpose,
                reason=self.name,
            )
            for row in rows
        ]

    async def fields(self, tx: Tx, session: Session) -> Mapping[str, Json]:
        """Note that the agent reads its messages; nothing is added to the reply."""
        for request in await self._archive.requests_to(tx, session.project_id, session.agent_id):
            await self._book.activate(tx, request.id)
        return {}


class Endings:
    """Tells each side once that a conversation is over, who ended it, and why."""

    name = "conversation_ended"
    purpose: Purpose = "chat"
    rank = 20

    def __init__(
        self, ctx: PluginContext[ConversationsConfig], archive: Archive, book: Book
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
        while (over := await self._archive.untold_to(store, session.project_id, me)) is not None:
            if await store.write(partial(self._book.tell, conversation_id=over.id, agent_id=me)):
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
        return None

    async def needs(self, db: Reader) -> list[Need]:
        """Ask for nobody: no session is started only to hear that something is over."""
        return []
