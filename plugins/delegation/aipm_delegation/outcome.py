"""The ``get_task_conversations`` tool: what became of a task's delegations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aipm_conversations.api import Conversation, Conversations
from aipm_conversations.api import topic as conversation_topic
from aipm_file_chat.api import Chat, Message
from aipm_tasks.api import TaskDesk
from pydantic import Field

from aipm_core import Arguments, Call, Json, PluginContext, Session
from aipm_delegation.config import DelegationConfig
from aipm_delegation.ledger import Delegation, Ledger, topic

LONGEST_WAIT = 55
_MOST_CHARACTERS = 400_000


class Wait(Arguments):
    """Arguments of ``get_task_conversations``."""

    wait_seconds: int = Field(default=0, ge=0, le=LONGEST_WAIT)


@dataclass(frozen=True, slots=True)
class _State:
    task_id: str | None
    delegations: Sequence[Delegation]
    conversations: Sequence[Conversation]

    @property
    def finished(self) -> bool:
        return all(d.over for d in self.delegations) and all(c.over for c in self.conversations)


class Outcome:
    """Waits on the server until a task's delegations and conversations are over."""

    def __init__(
        self,
        ctx: PluginContext[DelegationConfig],
        ledger: Ledger,
        tasks: TaskDesk | None,
        conversations: Conversations | None,
        chat: Chat | None,
    ) -> None:
        self._ctx = ctx
        self._ledger = ledger
        self._tasks = tasks
        self._conversations = conversations
        self._chat = chat

    async def get_task_conversations(self, call: Call, args: Wait) -> Json:
        """Return the delegations and conversations of this task."""
        me = call.caller

        async def look() -> _State | None:
            state = await self._state(me)
            return state if state.finished else None

        topics = (
            topic(me.project_id, me.agent_id),
            conversation_topic(me.project_id, me.agent_id),
        )
        found = await self._ctx.store.wait_until(topics, look, args.wait_seconds)
        return await self._shown(found or await self._state(me))

    async def _state(self, me: Session) -> _State:
        db = self._ctx.store
        task = await self._tasks.of_session(db, me.id) if self._tasks else None
        delegations = await self._ledger.of_task(db, task.id if task else None, me.id)
        conversations: list[Conversation] = []
        if self._conversations is not None:
            for delegation in delegations:
                conversations += await self._conversations.of_delegation(db, delegation.id)
        return _State(task.id if task else None, delegations, conversations)

    async def _shown(self, state: _State) -> Json:
        pending = "" if state.finished else "_pending"
        return {
            "task_id": state.task_id,
            "finished": state.finished,
            "delegations": [_delegation(one) for one in state.delegations],
            "conversations": await self._with_messages(state.conversations),
            "instruction": self._ctx.texts(f"outcome.instruction{pending}"),
        }

    async def _with_messages(self, conversations: Sequence[Conversation]) -> list[Json]:
        """Show the newest conversations in full; very long ones of old by their number only."""
        room, shown = _MOST_CHARACTERS, list[Json]()
        for conversation in reversed(conversations):
            messages = await self._messages(conversation)
            room -= sum(len(message.content) for message in messages)
            shown.append(_conversation(conversation, messages, in_full=room >= 0))
        return shown[::-1]

    async def _messages(self, conversation: Conversation) -> list[Message]:
        if self._chat is None:
            return []
        return await self._chat.of_conversation(self._ctx.store, conversation.id)


def _delegation(delegation: Delegation) -> dict[str, Json]:
    return {
        "delegation_id": delegation.id,
        "target_agent_id": delegation.target_agent_id,
        "purpose": delegation.purpose,
        "context": delegation.context,
        "status": delegation.status,
        "result": delegation.result,
        "created_at": delegation.created_at,
        "processed_at": delegation.processed_at,
    }


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
