"""Conversations as agents are shown them: how they stand, and what was said."""

from __future__ import annotations

from collections.abc import Sequence

from aipm_conversations.api import Conversation
from aipm_file_chat.api import Chat, Message

from aipm_core import Json, Reader

_MOST_CHARACTERS = 400_000


async def transcripts(
    db: Reader, conversations: Sequence[Conversation], chat: Chat | None
) -> list[Json]:
    """Show the newest in full; when they fill the reply, older ones by their number only."""
    room, shown = _MOST_CHARACTERS, list[Json]()
    for conversation in reversed(conversations):
        messages = await chat.of_conversation(db, conversation.id) if chat else []
        room -= sum(len(message.content) for message in messages)
        shown.append(_conversation(conversation, messages, in_full=room >= 0))
    return shown[::-1]


def _conversation(
    conversation: Conversation, messages: Sequence[Message], *, in_full: bool
) -> dict[str, Json]:
    return {
        "conversation_id": conversation.id,
        "delegation_id": conversation.delegation_id,
        "initiator_agent_id": conversation.initiator_id,
        "participant_agent_id": conversation.participant_id,
        "purpose": conversation.purpose,
        "state": conversation.state,
        "turns": conversation.turns,
        "max_turns": conversation.max_turns,
        "ended_by": conversation.ended_by,
        "end_reason": conversation.end_reason,
        "message_count": len(messages),
        "messages": [_message(message) for message in messages] if in_full else None,
    }


def _message(message: Message) -> dict[str, Json]:
    return {
        "id": message.id,
        "senderId": message.sender_id,
        "content": message.content,
        "createdAt": message.created_at,
    }
