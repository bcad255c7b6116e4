"""What people see of chats: where something is new, and what an agent wrote to them."""

from __future__ import annotations

from collections.abc import Iterable

from aipm_sessions.api import DIRECTORY, Agent
from aipm_views.api import Ids, InboxItem, InboxSource, ItemAction, Record, View

from aipm_core import Json, PluginContext, Reader, Row, quoted
from aipm_file_chat.config import FileChatConfig

_LONGEST_EXCERPT = 200  # characters
_MOST_ITEMS = 500  # of one person; the oldest are shown
_NEWEST = (
    "select seq, created_at from (select * from (select seq, created_at from messages "
    "where project_id = ? and sender_id = ? order by seq desc limit 1) as sent union all "
    "select * from (select seq, created_at from messages where project_id = ? "
    "and receiver_id = ? order by seq desc limit 1) as received) as newest "
    "order by seq desc limit 1"
)
_UNREAD = (
    "select count(*) as n from messages where project_id = ? and receiver_id = ? "
    "and read_at is null and sender_id = ?"
)
_SEEN = (
    "select seq from messages where project_id = ? and sender_id = ? and receiver_id = ? "
    "and read_at is not null and withdrawn_at is null and content <> '' "
    "order by seq desc limit 1"
)
_WAITING = (
    "select m.* from messages m join agents a on a.id = m.sender_id where m.project_id = ? "
    "and m.receiver_id = ? and m.read_at is null and a.kind = 'ai' order by m.seq limit ?"
)


class ChatView:
    """The view ``chats``: each member's chat as each other person sees it. No text is in it."""

    def __init__(self, ctx: PluginContext[FileChatConfig]) -> None:
        self._directory = ctx.services.use(DIRECTORY)

    def view(self) -> View:
        """Return it."""
        topics = ("chat:{project}:{id}", "chat_read:{project}:{id}", "members:{project}")
        return View(name="chats", topics=topics, read=self._read)

    async def _read(self, db: Reader, project_id: str, ids: Ids) -> Iterable[Record]:
        members = await self._directory.members(db, project_id)
        people = [member for member in members if member.kind == "human"]
        records: list[Record] = []
        for member in members:
            if ids is None or member.id in ids:
                records += await self._chats(db, project_id, member, people)
        return records

    async def _chats(
        self, db: Reader, project_id: str, member: Agent, people: list[Agent]
    ) -> list[Record]:
        newest = await db.one(_NEWEST, *(project_id, member.id) * 2)
        return [
            Record(
                id=member.id,
                data={
                    "agent_id": member.id,
                    "newest": newest["seq"] if newest else 0,
                    "newest_at": newest["created_at"] if newest else None,
                    **await self._between(db, project_id, member.id, person.id),
                },
                viewers=frozenset((person.id,)),
            )
            for person in people
            if person.id != member.id
        ]

    async def _between(
        self, db: Reader, project_id: str, member_id: str, person_id: str
    ) -> dict[str, Json]:
        unread = await db.one(_UNREAD, project_id, person_id, member_id)
        seen = await db.one(_SEEN, project_id, person_id, member_id)
        return {"unread": unread["n"] if unread else 0, "seen": seen["seq"] if seen else 0}


class UnreadItems:
    """A message of an agent waits until the person it is for has read it."""

    def __init__(self, ctx: PluginContext[FileChatConfig]) -> None:
        self._ctx = ctx
        self._directory = ctx.services.use(DIRECTORY)

    def source(self) -> InboxSource:
        """Return it."""
        topics = ("chat:{project}:{}", "chat_read:{project}:{}")
        return InboxSource(name="messages", topics=topics, items=self._items)

    async def _items(self, db: Reader, project_id: str) -> Iterable[InboxItem]:
        return [
            self._item(row)
            for member in await self._directory.members(db, project_id)
            if member.kind == "human"
            for row in await db.all(_WAITING, project_id, member.id, _MOST_ITEMS)
        ]

    def _item(self, row: Row) -> InboxItem:
        chat: dict[str, Json] = {"project_id": row["project_id"], "agent_id": row["sender_id"]}
        place: dict[str, Json] = {"after": row["seq"] - 1}
        return InboxItem(
            id=row["id"],
            kind="message",
            since=row["created_at"],
            persons=frozenset((row["receiver_id"],)),
            title=self._ctx.texts("inbox.title", sender=row["sender_id"]),
            detail=quoted(row["content"], _LONGEST_EXCERPT),
            agent_id=row["sender_id"],
            task_id=row["related_task_id"],
            actions=(ItemAction(name="read", tool="read_messages", arguments=chat | place),),
            personal=True,
            more={
                "seq": row["seq"],
                "related_task_id": row["related_task_id"],
                "conversation_id": row["conversation_id"],
            },
        )
