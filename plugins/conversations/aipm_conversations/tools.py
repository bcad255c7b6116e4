"""The tools with which two agents talk."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from aipm_file_chat.api import Chat
from aipm_sessions.api import SessionStore
from pydantic import Field

from aipm_conversations.api import Conversation
from aipm_conversations.config import ConversationsConfig
from aipm_conversations.queries import ConversationQueries
from aipm_conversations.transitions import SYSTEM, Transitions
from aipm_core import Arguments, Call, CallError, Json, PluginContext, Reader, Session, Tx

_REMIND_EVERY = 5
_Id = Annotated[str, Field(max_length=200)]


class StartConversation(Arguments):
    """Arguments of ``start_conversation``."""

    participant_agent_id: _Id
    initial_message: str
    purpose: str | None = Field(default=None, max_length=4000)
    max_turns: int = Field(default=20, ge=2, le=40)


class SayInConversation(Arguments):
    """Arguments of ``send_conversation_message`` and ``respond_conversation_message``."""

    conversation_id: _Id
    content: str


class EndConversation(Arguments):
    """Arguments of ``end_conversation``."""

    conversation_id: _Id
    final_message: str | None = None


class ConversationTools:
    """Starts, carries on and ends conversations. Every call is one transaction."""

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

    async def start_conversation(self, call: Call, args: StartConversation) -> Json:
        """Invite another agent to a conversation."""
        me, partner = call.caller, args.participant_agent_id
        await self._chat.check(me.project_id, me.agent_id, partner, args.initial_message)

        async def start(tx: Tx) -> Json:
            await self._clear_way(tx, me, partner)
            made = await self._transitions.open(tx, me, partner, args.purpose, args.max_turns)
            message_id = await self._utter(tx, me, made, args.initial_message)
            return self._told(made, message_id)

        return await self._write(me, start)

    async def send_conversation_message(self, call: Call, args: SayInConversation) -> Json:
        """Say something in a conversation."""
        me = call.caller
        found = await self._mine(self._ctx.store, me, args.conversation_id)
        partner = found.partner_of(me.agent_id)
        await self._chat.check(me.project_id, me.agent_id, partner, args.content)

        async def send(tx: Tx) -> Json:
            conversation = await self._mine(tx, me, args.conversation_id)
            message_id = await self._utter(tx, me, conversation, args.content)
            moved = await self._transitions.count_turn(tx, conversation, me)
            if moved.turns >= moved.max_turns:
                moved = await self._transitions.end(
                    tx, moved, "max_turns", by=SYSTEM, told=me.agent_id
                )
            return self._told(moved, message_id)

        return await self._write(me, send)

    async def respond_conversation_message(self, call: Call, args: SayInConversation) -> Json:
        """Answer in a conversation."""
        return await self.send_conversation_message(call, args)

    async def end_conversation(self, call: Call, args: EndConversation) -> Json:
        """End a conversation."""
        me, last = call.caller, args.final_message
        found = await self._mine(self._ctx.store, me, args.conversation_id)
        if last is not None:
            partner = found.partner_of(me.agent_id)
            await self._chat.check(me.project_id, me.agent_id, partner, last)

        async def end(tx: Tx) -> Json:
            conversation = await self._mine(tx, me, args.conversation_id)
            message_id = None
            if last is not None:
                message_id = await self._utter(tx, me, conversation, last)
                conversation = await self._transitions.count_turn(tx, conversation, me)
            ended = await self._transitions.end(
                tx, conversation, "end", by=me.agent_id, told=me.agent_id
            )
            return self._told(ended, message_id)

        return await self._write(me, end)

    async def _write(self, me: Session, unit: Callable[[Tx], Coroutine[Any, Any, Json]]) -> Json:
        async def guarded(tx: Tx) -> Json:
            await self._sessions.check_open(tx, me)
            return await unit(tx)

        result = await self._ctx.store.write(guarded)
        await self._chat.write_out()
        return result

    async def _clear_way(self, tx: Tx, me: Session, partner: str) -> None:
        """Refuse a second conversation of a pair; one whose time is up makes room."""
        standing = await self._queries.standing_between(tx, me.project_id, me.agent_id, partner)
        if standing is None:
            return
        if not self._queries.is_over(standing):
            raise self._ctx.refuse(
                "conversation_already_exists",
                409,
                partner=partner,
                conversation_id=standing.id,
                state=standing.state,
            )
        await self._transitions.end(tx, standing, "timeout", by=SYSTEM)

    async def _mine(self, db: Reader, me: Session, conversation_id: str) -> Conversation:
        """Find an open conversation in which this agent takes part, or say why not."""
        found = await self._queries.find(db, conversation_id)
        if found is None or found.project_id != me.project_id:
            raise self._ctx.refuse("conversation_not_found", 404, conversation_id=conversation_id)
        if me.agent_id not in {found.initiator_id, found.participant_id}:
            raise self._ctx.refuse(
                "not_conversation_participant", 403, conversation_id=conversation_id
            )
        if self._queries.is_over(found):
            raise self._over(found)
        return found

    def _over(self, found: Conversation) -> CallError:
        return self._ctx.refuse(
            "conversation_not_active",
            409,
            conversation_id=found.id,
            ended_by=found.ended_by or SYSTEM,
            reason=self._ctx.texts(f"reasons.{found.end_reason or 'timeout'}"),
        )

    async def _utter(self, tx: Tx, me: Session, conversation: Conversation, content: str) -> str:
        message = await self._chat.store(
            tx,
            project_id=me.project_id,
            sender_id=me.agent_id,
            receiver_id=conversation.partner_of(me.agent_id),
            content=content,
            conversation_id=conversation.id,
        )
        return message.id

    def _told(self, conversation: Conversation, message_id: str | None) -> dict[str, Json]:
        told: dict[str, Json] = {"conversation_id": conversation.id}
        if message_id is not None:
            told["message_id"] = message_id
        told |= {
            "turn": conversation.turns,
            "max_turns": conversation.max_turns,
            "state": conversation.state,
        }
        if conversation.over:
            told |= {"ended_by": conversation.ended_by, "end_reason": conversation.end_reason}
        return {**told, **self._advice(conversation)}

    def _advice(self, conversation: Conversation) -> dict[str, Json]:
        """Remind of the purpose now and then, and say so when the limit ended it."""
        count = {"turn": conversation.turns, "max_turns": conversation.max_turns}
        if conversation.end_reason == "max_turns":
            return {"warning": self._ctx.texts("talk.max_turns", **count)}
        if not conversation.over and conversation.turns % _REMIND_EVERY == 0:
            return {"reminder": self._ctx.texts("talk.reminder", **count)}
        return {}
