"""The ``get_task_conversations`` tool: what became of a task's delegations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aipm_conversations.api import Conversation, Conversations
from aipm_conversations.api import topic as conversation_topic
from aipm_file_chat.api import Chat
from aipm_notifications.api import Inbox, inbox_topic
from aipm_sessions.api import SessionStore
from aipm_tasks.api import TaskService
from pydantic import Field

from aipm_core import Arguments, Call, Json, PluginContext, Session
from aipm_delegation.config import DelegationConfig
from aipm_delegation.delegation_store import Delegation, DelegationStore, topic
from aipm_delegation.transcripts import transcripts

MAX_WAIT_SECONDS = 55


class GetTaskConversations(Arguments):
    """Arguments of ``get_task_conversations``."""

    wait_seconds: int = Field(default=0, ge=0, le=MAX_WAIT_SECONDS)


@dataclass(frozen=True, slots=True)
class _State:
    task_id: str | None
    delegations: Sequence[Delegation]
    conversations: Sequence[Conversation]

    @property
    def finished(self) -> bool:
        return all(d.over for d in self.delegations) and all(c.over for c in self.conversations)


class TaskConversations:
    """Waits on the server until a task's delegations and conversations are over."""

    def __init__(
        self,
        ctx: PluginContext[DelegationConfig],
        delegation_store: DelegationStore,
        sessions: SessionStore,
        tasks: TaskService | None,
        conversations: Conversations | None,
        chat: Chat | None,
        inbox: Inbox | None,
    ) -> None:
        self._ctx = ctx
        self._delegation_store = delegation_store
        self._sessions = sessions
        self._tasks = tasks
        self._conversations = conversations
        self._chat = chat
        self._inbox = inbox

    async def get_task_conversations(self, call: Call, args: GetTaskConversations) -> Json:
        """Return the delegations and conversations of this task."""
        me = call.caller
        task = await self._tasks.of_session(self._ctx.store, me.id) if self._tasks else None
        task_id = task.id if task else None  # a session that falls silent while it waits loses it

        async def look() -> _State | None:
            state = await self._state(me, task_id)
            return state if state.finished or await self._interrupted(me) else None

        who = (me.project_id, me.agent_id)
        topics = (topic(*who), conversation_topic(*who), inbox_topic(*who))
        found = await self._sessions.wait(me, topics, look, args.wait_seconds)
        self._sessions.seen(me.id)  # it was there all the time
        return await self._shown(found or await self._state(me, task_id))

    async def _interrupted(self, me: Session) -> bool:
        return self._inbox is not None and await self._inbox.interrupted(self._ctx.store, me)

    async def _state(self, me: Session, task_id: str | None) -> _State:
        db = self._ctx.store
        delegations = await self._delegation_store.of_task(db, task_id, me.id)
        conversations: list[Conversation] = []
        if self._conversations is not None:
            for delegation in delegations:
                conversations += await self._conversations.of_delegation(db, delegation.id)
        return _State(task_id, delegations, conversations)

    async def _shown(self, state: _State) -> Json:
        db, pending = self._ctx.store, "" if state.finished else "_pending"
        return {
            "task_id": state.task_id,
            "finished": state.finished,
            "delegations": [_delegation(one) for one in state.delegations],
            "conversations": await transcripts(db, state.conversations, self._chat),
            "instruction": self._ctx.texts(f"outcome.instruction{pending}"),
        }


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
