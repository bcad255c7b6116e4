"""The ``Chat`` service: stores messages and finds them again."""

from __future__ import annotations

import secrets

from aipm_notifications.api import Inbox

from aipm_core import PluginContext, Reader, Session, Tx
from aipm_file_chat.api import FileChatHooks, Message, topic_of
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.deliveries import Deliveries
from aipm_file_chat.projection import Projection
from aipm_file_chat.tables import OUTBOX, message_of
from aipm_file_chat.validation import MessageValidation

_INSERT = (
    "insert into messages (id, project_id, sender_id, receiver_id, content, created_at, "
    "related_task_id, conversation_id, idempotency_key, corrects) "
    "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "returning *"
)


class MessageStore:
    """Messages between the members of a project."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        validation: MessageValidation,
        projection: Projection,
        inbox: Inbox | None,
    ) -> None:
        self._ctx = ctx
        self._validation = validation
        self._projection = projection
        self._inbox = inbox
        self.deliveries = Deliveries()

    async def check(self, project_id: str, sender_id: str, receiver_id: str, content: str) -> None:
        """Raise the ``CallError`` that sending this would get."""
        await self._validation.check(project_id, sender_id, (receiver_id,), content)

    async def store(
        self,
        tx: Tx,
        *,
        project_id: str,
        sender_id: str,
        receiver_id: str,
        content: str,
        related_task_id: str | None = None,
        conversation_id: str | None = None,
        idempotency_key: str | None = None,
        corrects: str | None = None,
    ) -> Message:
        """Store a checked message; one that was stored before under its key is returned again."""
        if idempotency_key is not None:
            earlier = await self._earlier(tx, project_id, sender_id, idempotency_key)
            if earlier is not None:
                return self._same(earlier, receiver_id, content, related_task_id)
        row = await tx.one(
            _INSERT,
            *(self._new_id(), project_id, sender_id, receiver_id, content, self._ctx.now()),
            *(related_task_id, conversation_id, idempotency_key, corrects),
        )
        assert row is not None  # noqa: S101 - an insert returns its row  # nosec B101
        message = message_of(row)
        await self._announce(tx, message)
        return message

    async def store_withdrawal(self, tx: Tx, withdrawn: Message) -> None:
        """Say in both files that a message was withdrawn; nobody is given this to read."""
        now = self._ctx.now()
        ends = (withdrawn.sender_id, withdrawn.receiver_id)
        row = await tx.one(
            _INSERT,
            *(self._new_id(), withdrawn.project_id, *ends, "", now),
            *(withdrawn.related_task_id, withdrawn.conversation_id, None, withdrawn.id),
        )
        assert row is not None  # noqa: S101 - an insert returns its row  # nosec B101
        await tx.run("update messages set read_at = ? where seq = ?", now, row["seq"])
        await tx.run("insert into chat_outbox (seq) values (?)", row["seq"])
        tx.wake(OUTBOX, *(topic_of(withdrawn.project_id, one) for one in ends))

    def _new_id(self) -> str:
        """Make an id that grows with time: the index of a million ids is then only added to."""
        return f"msg_{int(self._ctx.clock() * 1000):011x}{secrets.token_hex(7)[:13]}"

    async def _announce(self, tx: Tx, message: Message) -> None:
        await tx.run("insert into chat_outbox (seq) values (?)", message.seq)
        tx.wake(OUTBOX, topic_of(message.project_id, message.receiver_id))
        tx.wake(topic_of(message.project_id, message.sender_id))
        if self._inbox is not None:
            await self._inbox.put(
                tx,
                agent_id=message.receiver_id,
                project_id=message.project_id,
                type="new_message",
                message=self._ctx.texts("notice", sender=message.sender_id),
                audience="chat",
            )
        for owned in self._ctx.given(FileChatHooks.aipm_message_observers):
            await owned.record.stored(tx, message)

    async def _earlier(
        self, tx: Tx, project_id: str, sender_id: str, idempotency_key: str
    ) -> Message | None:
        row = await tx.one(
            "select * from messages where project_id = ? and sender_id = ? and idempotency_key = ?",
            *(project_id, sender_id, idempotency_key),
        )
        return message_of(row) if row else None

    def _same(
        self, earlier: Message, receiver_id: str, content: str, related_task_id: str | None
    ) -> Message:
        stored = (earlier.receiver_id, earlier.content, earlier.related_task_id)
        if stored != (receiver_id, content, related_task_id):
            raise self._ctx.refuse("idempotency_conflict", 409, message=earlier.id)
        return earlier

    async def write_out(self) -> None:
        """Put what is stored into the chat files."""
        await self._projection.write_out()

    async def delivered(self, db: Reader, reader: Session, message_id: str) -> Message | None:
        """Find a message that was given to a session of this agent, whichever it was."""
        row = await db.one(
            "select * from messages where id = ? and project_id = ? and receiver_id = ? "
            "and read_at is not null and withdrawn_at is null",
            *(message_id, reader.project_id, reader.agent_id),
        )
        return message_of(row) if row else None

    async def newest_delivered(self, db: Reader, session: Session) -> Message | None:
        """Return the newest message that this very session has been given to read."""
        return await self.deliveries.newest(db, session)

    async def of_conversation(self, db: Reader, conversation_id: str) -> list[Message]:
        """Return the messages of one conversation, oldest first."""
        rows = await db.all(
            "select * from messages where conversation_id = ? order by seq", conversation_id
        )
        return [message_of(row) for row in rows]

    async def unread(self, db: Reader, project_id: str, agent_id: str) -> int:
        """Count an agent's unread messages."""
        row = await db.one(
            "select count(*) as unread from messages where project_id = ? and receiver_id = ? "
            "and read_at is null",
            *(project_id, agent_id),
        )
        return int(row["unread"]) if row else 0
