"""Results of calls that ran while an interrupt arrived: kept until their agent asks for them."""

from __future__ import annotations

import orjson
from aipm_sessions.api import SESSIONS, arguments_digest

from aipm_core import Json, PluginContext, Reply, Request, Row, Session, Tx
from aipm_notifications.config import NotificationsConfig

MAX_BYTES = 2 * 1024 * 1024  # handed out at once; a reply holds 4 MiB in all
_PAGE = 50


class Withheld:
    """Keeps results on disk, each for the session that made the call."""

    def __init__(self, ctx: PluginContext[NotificationsConfig]) -> None:
        self._ctx = ctx
        self._sessions = ctx.services.find(SESSIONS)

    async def keep(self, request: Request, session: Session, reply: Reply) -> bool:
        """Put a reply away durably; ``False`` if it is too large to be handed out again."""
        result = reply.envelope().get("error") if reply.error else reply.result
        text = orjson.dumps(result).decode()
        if len(text.encode()) > MAX_BYTES:
            return False
        digest, now = arguments_digest(request.arguments), self._ctx.now()

        async def unit(tx: Tx) -> None:
            await tx.run(
                "insert into withheld_results (agent_id, project_id, purpose, session_id, tool, "
                "arguments_digest, ok, result, at) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                *(session.agent_id, session.project_id, session.purpose, session.id),
                *(request.tool, digest, int(reply.error is None), text, now),
            )

        await self._ctx.store.write(unit)
        return True

    async def take(self, tx: Tx, session: Session, *, remove: bool) -> tuple[list[Json], bool]:
        """Return what is kept for a session, oldest first, and whether there is more."""
        rows = await tx.all(
            "select * from withheld_results where agent_id = ? and project_id = ? "
            "and purpose = ? order by session_id <> ?, seq limit ?",
            *(session.agent_id, session.project_id, session.purpose, session.id, _PAGE),
        )
        mine = [row for row in rows if await self._belongs(tx, row, session)]
        chosen = _fitting(mine)
        if remove:
            for row in chosen:
                await tx.run("delete from withheld_results where seq = ?", row["seq"])
        return [_shown(row) for row in chosen], len(chosen) < len(mine) or len(mine) == _PAGE

    async def _belongs(self, tx: Tx, row: Row, session: Session) -> bool:
        """A result goes to its own session, or to the agent's next one when that has ended."""
        if row["session_id"] == session.id or self._sessions is None:
            return True
        return await self._sessions.find(tx, row["session_id"]) is None


def _fitting(rows: list[Row]) -> list[Row]:
    """Take from the front what one reply can carry."""
    chosen: list[Row] = []
    room = MAX_BYTES
    for row in rows:
        room -= len(row["result"].encode())
        if room < 0:
            break
        chosen.append(row)
    return chosen


def _shown(row: Row) -> dict[str, Json]:
    return {
        "tool": row["tool"],
        "arguments_digest": row["arguments_digest"],
        "ok": bool(row["ok"]),
        "result": orjson.loads(row["result"]),
        "at": row["at"],
    }
