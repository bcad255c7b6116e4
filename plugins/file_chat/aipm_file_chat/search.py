"""Finds messages by a part of their text, in any language, and whatever the case of its letters.

The index follows the messages in batches: a message is acknowledged without waiting for it. SQLite
indexes groups of three characters; shorter searches read the messages themselves. PostgreSQL has
no such index without an extension, so groups of two characters are made here and kept in an array:
two characters are a word in Japanese.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product

import anyio

from aipm_core import PluginContext, Row, Tx, background
from aipm_file_chat.config import FileChatConfig
from aipm_file_chat.tables import OUTBOX

_BATCH = 1000
_SHORTEST_INDEXED = 3
_RECHECK_SECONDS = 3600.0
_MINE = "m.project_id = ? and (m.sender_id = ? or m.receiver_id = ?)"
_LAST = {
    "sqlite": "(select coalesce(max(id), 0) from messages_search_docsize)",
    "postgresql": "(select coalesce(max(seq), 0) from messages_search)",
}
_SEPARATOR = "\x01"  # between groups on their way to the database


class MessageSearch:
    """The search index, and what it finds."""

    def __init__(self, ctx: PluginContext[FileChatConfig]) -> None:
        self._ctx = ctx
        self._store = ctx.store
        self._last = _LAST[ctx.store.dialect]

    async def find(self, project_id: str, agent_id: str, text: str, limit: int) -> list[Row]:
        """Return an agent's messages that contain a text, newest first."""
        mine = (project_id, agent_id, agent_id)
        if self._store.dialect == "postgresql":
            return await self._by_groups(mine, text, limit)
        if len(text) < _SHORTEST_INDEXED:
            return await self._by_reading(mine, text, limit)
        await self.index()
        phrase = '"' + text.replace('"', '""').replace("\0", " ") + '"'
        return await self._store.scan(
            "select m.* from messages_search s join messages m on m.seq = s.rowid "
            f"where messages_search match ? and {_MINE} order by s.rowid desc limit ?",
            *(phrase, *mine, limit),
        )

    async def _by_reading(self, mine: tuple[str, str, str], text: str, limit: int) -> list[Row]:
        """Look into every message. SQLite ignores the case of ASCII only, so each case is asked."""
        cases = sorted(
            {"".join(chosen) for chosen in product(*({c.lower(), c.upper()} for c in text))}
        )
        asked = " or ".join("m.content like ? escape '\\'" for _ in cases)
        return await self._store.scan(
            f"select * from messages m where {_MINE} and ({asked}) order by m.seq desc limit ?",
            *(*mine, *map(_containing, cases), limit),
        )

    async def _by_groups(self, mine: tuple[str, str, str], text: str, limit: int) -> list[Row]:
        await self.index()
        return await self._store.scan(
            "select m.* from messages_search s join messages m on m.seq = s.seq "
            "where s.parts @> string_to_array(?, chr(1)) and s.folded like ? escape '\\' "
            f"and {_MINE} order by m.seq desc limit ?",
            *(_SEPARATOR.join(groups(text)), _containing(text.lower()), *mine, limit),
        )

    async def index(self) -> None:
        """Bring the index up to date."""
        fill = self._add_groups if self._store.dialect == "postgresql" else self._add_trigrams
        while await self._store.write(fill) == _BATCH:
            pass

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Let the index follow the messages while the runtime lives."""
        async with background(chat_search=self._follow):
            yield

    async def _follow(self) -> None:
        while True:
            await self._store.wait_until((OUTBOX,), self._behind, _RECHECK_SECONDS)
            await anyio.sleep(self._ctx.config.sync_seconds)
            await self.index()

    async def _behind(self) -> bool | None:
        row = await self._store.one(
            f"select coalesce((select max(seq) from messages), 0) > {self._last} as behind"
        )
        return bool(row and row["behind"]) or None

    async def _add_trigrams(self, tx: Tx) -> int:
        return await tx.run(
            "insert into messages_search (rowid, content) select seq, content from messages "
            f"where seq > {self._last} order by seq limit ?",
            _BATCH,
        )

    async def _add_groups(self, tx: Tx) -> int:
        rows = await tx.all(
            f"select seq, content from messages where seq > {self._last} order by seq limit ?",
            _BATCH,
        )
        if rows:
            await tx.run(
                "insert into messages_search (seq, folded, parts) "
                "select seq, folded, string_to_array(parts, chr(1)) from "
                "unnest(?::bigint[], ?::text[], ?::text[]) as given (seq, folded, parts)",
                [row["seq"] for row in rows],
                [row["content"].lower() for row in rows],
                [_SEPARATOR.join(groups(row["content"])) for row in rows],
            )
        return len(rows)


def groups(text: str) -> list[str]:
    """Return every two neighbouring characters of a text, in small letters, each once."""
    folded = text.lower().replace(_SEPARATOR, " ")
    return sorted({folded[place : place + 2] for place in range(len(folded) - 1)})


def _containing(text: str) -> str:
    return "%" + text.translate({ord(c): f"\\{c}" for c in "\\%_"}) + "%"
