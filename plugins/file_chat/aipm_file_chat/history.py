"""Messages as people look at them: page by page, and by words."""

from __future__ import annotations

from dataclasses import dataclass

from aipm_core import Json, PluginContext, Reader, Row, Tx
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.reading import Reading
from aipm_file_chat.search import MessageSearch
from aipm_file_chat.tables import message_of, read_topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some messages, the cursor behind them, and whether more follow."""

    messages: list[dict[str, Json]]
    next: int
    has_more: bool


class History:
    """Everything an agent sent and received in a project."""

    def __init__(
        self, ctx: PluginContext[FileChatConfig], reading: Reading, search: MessageSearch
    ) -> None:
        self._ctx = ctx
        self._reading = reading
        self._search = search

    async def page(self, project_id: str, agent_id: str, after: int, limit: int) -> Page:
        """Return the messages behind a cursor, oldest first."""
        await self._check_cursor(after)
        rows = await self._ctx.store.all(
            "select * from (select * from messages where project_id = ? and sender_id = ? "
            "and seq > ? order by seq limit ?) as sent union all "
            "select * from (select * from messages where project_id = ? and receiver_id = ? "
            "and seq > ? order by seq limit ?) as received order by seq limit ?",
            *(project_id, agent_id, after, limit + 1) * 2,
            limit + 1,
        )
        page = rows[:limit]
        return Page(
            messages=await self._shown(self._ctx.store, [row for row in page if _is_said(row)]),
            next=page[-1]["seq"] if page else after,
            has_more=len(rows) > limit,
        )

    async def one(self, db: Reader, seq: int) -> dict[str, Json]:
        """Return one message."""
        rows = await db.all("select * from messages where seq = ?", seq)
        return (await self._shown(db, rows))[0]

    async def _check_cursor(self, after: int) -> None:
        row = await self._ctx.store.one("select coalesce(max(seq), 0) as last from messages")
        if after < 0 or (row is not None and after > row["last"]):
            raise self._ctx.refuse("unknown_cursor", 400, cursor=after)

    async def read_by(self, reader_id: str, page: Page) -> None:
        """Mark read what a person has just been shown and was sent."""
        seqs = [
            message["seq"]
            for message in page.messages
            if message["receiverId"] == reader_id and message["readAt"] is None
        ]
        if not seqs:
            return
        now = self._ctx.now()

        async def mark(tx: Tx) -> None:
            for seq in seqs:
                row = await tx.one(
                    "update messages set read_at = ? where seq = ? and read_at is null "
                    "returning project_id, sender_id",
                    *(now, seq),
                )
                if row is not None:
                    project_id = row["project_id"]
                    tx.wake(
                        read_topic(project_id, row["sender_id"]), read_topic(project_id, reader_id)
                    )

        await self._ctx.store.write(mark)

    async def search(
        self, project_id: str, agent_id: str, text: str, limit: int
    ) -> list[dict[str, Json]]:
        """Find an agent's messages that contain a text, newest first."""
        rows = await self._search.find(project_id, agent_id, text, limit)
        return await self._shown(self._ctx.store, [row for row in rows if not row["withdrawn_at"]])

    async def _shown(self, db: Reader, rows: list[Row]) -> list[dict[str, Json]]:
        kinds = await self._reading.kinds(db, (row["sender_id"] for row in rows))
        return [for_people(row, kinds[row["sender_id"]]) for row in rows]


def _is_said(row: Row) -> bool:
    """Return whether a row is a message, and not only the note that another was withdrawn."""
    return row["corrects"] is None or row["content"] != ""


def for_people(row: Row, kind: str) -> dict[str, Json]:
    """Return a message as people's programs see it, with its read receipt."""
    message = message_of(row)
    shown: dict[str, Json] = {
        "seq": message.seq,
        "id": message.id,
        "senderId": message.sender_id,
        "senderKind": kind,
        "receiverId": message.receiver_id,
        "content": "" if row["withdrawn_at"] else message.content,
        "createdAt": message.created_at,
        "readAt": None if row["withdrawn_at"] else row["read_at"],
    }
    if row["withdrawn_at"]:
        shown["withdrawnAt"] = row["withdrawn_at"]
    if message.corrects is not None:
        shown["corrects"] = message.corrects
    if message.related_task_id is not None:
        shown["relatedTaskId"] = message.related_task_id
    if message.conversation_id is not None:
        shown["conversationId"] = message.conversation_id
    return shown
