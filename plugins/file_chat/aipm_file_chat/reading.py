"""The tool that reads: ``get_pending_messages``; and the work that unread messages are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from aipm_sessions.api import Directory, Instructions, Need
from pydantic import Field

from aipm_core import Arguments, Call, Json, PluginContext, Reader, Session, Tx
from aipm_file_chat.api import SYSTEM, FileChatHooks, Message, topic_of
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.message_store import MessageStore
from aipm_file_chat.tables import message_of, read_topic

_MAX_REPLY_BYTES = 256 * 1024  # of content; what does not fit comes with the next call


class GetPendingMessages(Arguments):
    """How many at most."""

    limit: Annotated[int, Field(ge=1, le=100)] = 20


class Reading:
    """Delivers unread messages, each of them once."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        message_store: MessageStore,
        directory: Directory,
        guidance: Instructions,
    ) -> None:
        self._ctx = ctx
        self._message_store = message_store
        self._directory = directory
        self._guidance = guidance

    async def get_pending_messages(self, call: Call, args: GetPendingMessages) -> Json:
        """Return unread messages, oldest first, and mark exactly these as read."""
        caller, now = call.caller, self._ctx.now()

        async def deliver(tx: Tx) -> dict[str, Json]:
            unread = await _unread(tx, caller, args.limit + 1)
            delivered = list(_fitting(unread[: args.limit]))
            for message in delivered:
                await tx.run("update messages set read_at = ? where seq = ?", now, message.seq)
                tx.wake(read_topic(message.project_id, caller.agent_id))
            if delivered:
                await self._message_store.deliveries.note(tx, caller, delivered[-1])
            kinds = await self.kinds(tx, (message.sender_id for message in delivered))
            return {
                "pending_messages": [_shown(m, kinds[m.sender_id]) for m in delivered],
                **await self._more(tx, caller),
                "has_more": len(unread) > len(delivered),
            }

        result: dict[str, Json] = await self._ctx.store.write(deliver)
        return {**result, "instruction": self._instruction(result)}

    async def kinds(self, db: Reader, agent_ids: Iterable[str]) -> dict[str, str]:
        """Say of each sender whether it is a person, an AI or the system itself."""
        kinds: dict[str, str] = {}
        for agent_id in set(agent_ids):
            agent = await self._directory.agent(db, agent_id)
            kinds[agent_id] = agent.kind if agent else (SYSTEM if agent_id == SYSTEM else "ai")
        return kinds

    async def _more(self, tx: Tx, caller: Session) -> dict[str, Json]:
        """Return the fields that other plugins add to the reply."""
        more: dict[str, Json] = {"pending_delegations": []}
        for owned in self._ctx.given(FileChatHooks.aipm_pending_fields):
            more |= await owned.record.fields(tx, caller)
        return more

    def _instruction(self, result: Mapping[str, Json]) -> str:
        key = "pending" if result["pending_messages"] else "none_pending"
        texts = [self._ctx.texts(f"instructions.{key}"), self._guidance.text("chat")]
        if result["has_more"]:
            texts.insert(1, self._ctx.texts("instructions.has_more"))
        return "\n\n".join(text for text in texts if text)


class UnreadMessages:
    """The ``WorkSource`` of chat: a session with unread messages should read them."""

    name = "unread_messages"

    def __init__(self, ctx: PluginContext[FileChatConfig], directory: Directory) -> None:
        self._ctx = ctx
        self._directory = directory

    def topics(self, session: Session) -> tuple[str, ...]:
        """Name what wakes a session that waits for messages."""
        return (topic_of(session.project_id, session.agent_id),)

    async def look(self, session: Session) -> Mapping[str, Json] | None:
        """Send a session with unread messages to read them."""
        if not await _any_unread(self._ctx.store, session.project_id, session.agent_id):
            return None
        return {
            "action": "get_pending_messages",
            "instruction": self._ctx.texts("instructions.work"),
        }

    async def needs(self, db: Reader) -> list[Need]:
        """List the agents with unread messages; people read theirs in a user interface."""
        return [
            Need(agent_id=member.id, project_id=project.id, purpose="chat", reason=self.name)
            for project in await self._directory.projects(db)
            for member in await self._directory.members(db, project.id)
            if member.kind == "ai" and await _any_unread(db, project.id, member.id)
        ]


async def _any_unread(db: Reader, project_id: str, agent_id: str) -> bool:
    row = await db.one(
        "select 1 from messages where project_id = ? and receiver_id = ? "
        "and read_at is null limit 1",
        *(project_id, agent_id),
    )
    return row is not None


async def _unread(tx: Tx, caller: Session, limit: int) -> list[Message]:
    rows = await tx.all(
        "select * from messages where project_id = ? and receiver_id = ? and read_at is null "
        "order by seq limit ?",
        *(caller.project_id, caller.agent_id, limit),
    )
    return [message_of(row) for row in rows]


def _fitting(messages: Iterable[Message]) -> Iterable[Message]:
    """Stop before the reply grows too large; the first message always fits."""
    size = 0
    for message in messages:
        size += len(message.content.encode())
        if size > _MAX_REPLY_BYTES and size != len(message.content.encode()):
            return
        yield message


def _shown(message: Message, kind: str) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "id": message.id,
        "senderId": message.sender_id,
        "senderKind": kind,
        "content": message.content,
        "createdAt": message.created_at,
    }
    if message.related_task_id is not None:
        shown["relatedTaskId"] = message.related_task_id
    if message.conversation_id is not None:
        shown["conversationId"] = message.conversation_id
    return shown
