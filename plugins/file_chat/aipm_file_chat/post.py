"""The ``Chat`` service: stores messages and finds them again."""

from __future__ import annotations

import secrets

from aipm_notifications.api import Inbox

from aipm_core import PluginContext, Reader, Tx
from aipm_file_chat.admission import Admission
from aipm_file_chat.api import Message, MessageObserver, PendingExtra, topic_of
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.projection import Projection
from aipm_file_chat.tables import OUTBOX, message_of

_INSERT = (
    "insert into messages (id, project_id, sender_id, receiver_id, content, created_at, "
    "related_task_id, conversation_id, idempotency_key) values (?, ?, ?, ?, ?, ?, ?, ?, ?) "
    "returning *"
)


class Post:
    """Messages between the members of a project."""

    def __init__(
        self,
        ctx: PluginContext[FileChatConfig],
        admission: Admission,
        projection: Projection,
        inbox: Inbox | None,
    ) -> None:
        self._ctx = ctx
        self._admission = admission
        self._projection = projection
        self._inbox = inbox
        self._observers: list[MessageObserver] = []
        self.extras: list[PendingExtra] = []

    def observe(self, observer: MessageObserver) -> None:
        """Show every stored message to an observer."""
        self._observers.append(observer)

    def extend_pending(self, extra: PendingExtra) -> None:
        """Add fields to ``get_pending_messages``."""
        self.extras.append(extra)

    async def check(self, project_id: str, sender_id: str, receiver_id: str, content: str) -> None:
        """Raise the ``CallError`` that sending this would get."""
        await self._admission.check(project_id, sender_id, (receiver_id,), content)

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
    ) -> Message:
        """Store a checked message; one that was stored before under its key is returned again."""
        if idempotency_key is not None:
            earlier = await self._earlier(tx, project_id, sender_id, idempotency_key)
            if earlier is not None:
                return self._same(earlier, receiver_id, content, related_task_id)
        row = await tx.one(
            _INSERT,
            *(self._new_id(), project_id, sender_id, receiver_id, content, self._ctx.now()),
            *(related_task_id, conversation_id, idempotency_key),
        )
        assert row is not None  # noqa: S101 - an insert returns its row  # nosec B101
        message = message_of(row)
        await self._announce(tx, message)
        return message

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
        for observer in self._observers:
            await observer.stored(tx, message)

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

    async def find(self, db: Reader, message_id: str) -> Message | None:
        """Find a message."""
        row = await db.one("select * from messages where id = ?", message_id)
        return message_of(row) if row else None

    async def newest_received(self, db: Reader, project_id: str, agent_id: str) -> Message | None:
        """Return the newest message an agent got from somebody else."""
        row = await db.one(
            "select * from messages where project_id = ? and receiver_id = ? "
            "order by seq desc limit 1",
            *(project_id, agent_id),
        )
        return message_of(row) if row else None

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
