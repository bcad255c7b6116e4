"""Messages as people look at them: page by page, and by words.

The search index follows in batches of its own, so that sending never waits for it. It holds groups
of three characters, which finds words of languages that write none apart; shorter searches read
the messages themselves.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from aipm_core import Json, PluginContext, Row, Tx, background
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.reading import Reading
from aipm_file_chat.tables import OUTBOX, message_of

_BATCH = 1000
_SHORTEST_INDEXED = 3
_INDEXED = "(select coalesce(max(id), 0) from messages_search_docsize)"
_IDLE = 3600.0
_MINE = "m.project_id = ? and (m.sender_id = ? or m.receiver_id = ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some messages, the cursor behind them, and whether more follow."""

    messages: list[dict[str, Json]]
    next: int
    has_more: bool


class History:
    """Everything an agent sent and received in a project."""

    def __init__(self, ctx: PluginContext[FileChatConfig], reading: Reading) -> None:
        self._ctx = ctx
        self._reading = reading
        self._indexed = ctx.store.dialect == "sqlite"

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
            messages=await self._shown(page),
            next=page[-1]["seq"] if page else after,
            has_more=len(rows) > limit,
        )

    async def one(self, seq: int) -> dict[str, Json]:
        """Return one message."""
        rows = await self._ctx.store.all("select * from messages where seq = ?", seq)
        return (await self._shown(rows))[0]

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
                await tx.run(
                    "update messages set read_at = ? where seq = ? and read_at is null", now, seq
                )

        await self._ctx.store.write(mark)

    async def search(
        self, project_id: str, agent_id: str, text: str, limit: int
    ) -> list[dict[str, Json]]:
        """Find an agent's messages that contain a text, newest first."""
        mine = (project_id, agent_id, agent_id)
        if not self._indexed or len(text) < _SHORTEST_INDEXED:
            pattern = "%" + text.translate({ord(c): f"\\{c}" for c in "\\%_"}) + "%"
            rows = await self._ctx.store.scan(
                f"select * from messages m where {_MINE} "
                "and lower(m.content) like lower(?) escape '\\' order by m.seq desc limit ?",
                *(*mine, pattern, limit),
            )
        else:
            await self.index()
            phrase = '"' + text.replace('"', '""').replace("\0", " ") + '"'
            rows = await self._ctx.store.scan(
                "select m.* from messages_search s join messages m on m.seq = s.rowid "
                f"where messages_search match ? and {_MINE} order by s.rowid desc limit ?",
                *(phrase, *mine, limit),
            )
        return await self._shown(rows)

    async def index(self) -> None:
        """Bring the search index up to date."""
        while await self._ctx.store.write(_index_some) == _BATCH:
            pass

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Let the index follow the messages while the runtime lives."""
        if not self._indexed:
            yield
            return
        async with background(chat_search=self._follow):
            yield

    async def _follow(self) -> None:
        while True:
            await self._ctx.store.wait_until((OUTBOX,), self._behind, _IDLE)
            await anyio.sleep(self._ctx.config.sync_seconds)
            await self.index()

    async def _behind(self) -> bool | None:
        row = await self._ctx.store.one(
            f"select coalesce((select max(seq) from messages), 0) > {_INDEXED} as behind"
        )
        return bool(row and row["behind"]) or None

    async def _shown(self, rows: list[Row]) -> list[dict[str, Json]]:
        kinds = await self._reading.kinds(self._ctx.store, (row["sender_id"] for row in rows))
        return [for_people(row, kinds[row["sender_id"]]) for row in rows]


def for_people(row: Row, kind: str) -> dict[str, Json]:
    """Return a message as people's programs see it, with its read receipt."""
    message = message_of(row)
    shown: dict[str, Json] = {
        "seq": message.seq,
        "id": message.id,
        "senderId": message.sender_id,
        "senderKind": kind,
        "receiverId": message.receiver_id,
        "content": message.content,
        "createdAt": message.created_at,
        "readAt": row["read_at"],
    }
    if message.related_task_id is not None:
        shown["relatedTaskId"] = message.related_task_id
    if message.conversation_id is not None:
        shown["conversationId"] = message.conversation_id
    return shown


async def _index_some(tx: Tx) -> int:
    return await tx.run(
        "insert into messages_search (rowid, content) select seq, content from messages "
        f"where seq > {_INDEXED} order by seq limit ?",
        _BATCH,
    )
