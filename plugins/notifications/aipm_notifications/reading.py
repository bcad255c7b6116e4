"""The ``get_notifications`` tool."""

from __future__ import annotations

from aipm_core import Arguments, Call, Json, PluginContext, Row, Session, Tx
from aipm_notifications.config import NotificationsConfig
from aipm_notifications.views import read_topic
from aipm_notifications.withheld import Withheld

_PAGE = 50
_WHEN_KNOWN = ("task_id", "conversation_id", "reason")


class GetNotifications(Arguments):
    """Arguments of ``get_notifications``."""

    mark_as_read: bool = True


class Reading:
    """Shows a session its unread notifications and marks exactly those read."""

    def __init__(self, ctx: PluginContext[NotificationsConfig], withheld: Withheld) -> None:
        self._ctx = ctx
        self._withheld = withheld

    async def get_notifications(self, call: Call, args: GetNotifications) -> Json:
        """Return what is unread, newest first, and the results withheld meanwhile."""
        session = call.caller
        reader = "ui" if call.request.audience == "in_process" else session.purpose

        async def unit(tx: Tx) -> Json:
            rows = await self._unread(tx, session)
            shown = rows[:_PAGE]
            if args.mark_as_read:
                for row in shown:
                    await tx.run(
                        "update notifications set read_at = ? where seq = ?",
                        *(self._ctx.clock(), row["seq"]),
                    )
                    tx.wake(read_topic(session.project_id, row["id"]))
            results, more = await self._withheld.take(tx, session, remove=args.mark_as_read)
            found: dict[str, Json] = {
                "notifications": [self._shown(row, reader) for row in shown],
                "withheld_results": results,
            }
            return {**found, "has_more": True} if more or len(rows) > _PAGE else found

        return await self._ctx.store.write(unit)

    async def _unread(self, tx: Tx, session: Session) -> list[Row]:
        return await tx.all(
            "select * from notifications where read_at is null and agent_id = ? "
            "and project_id = ? and audience in ('', ?) and expires_at > ? "
            "and (session_id is null or session_id = ?) order by seq desc limit ?",
            *(session.agent_id, session.project_id, session.purpose),
            *(self._ctx.clock(), session.id, _PAGE + 1),
        )

    def _shown(self, row: Row, reader: str) -> dict[str, Json]:
        shown: dict[str, Json] = {
            "id": row["id"],
            "type": row["type"],
            "action": row["action"],
            "message": row["message"],
            "instruction": row["instruction"] or self._instruction(row, reader),
            "created_at": row["created_at"],
        }
        return shown | {name: row[name] for name in _WHEN_KNOWN if row[name]}

    def _instruction(self, row: Row, reader: str) -> str:
        """Say what to do in the words for this action, else for this type of notification."""
        for name in (row["action"], row["type"]):
            if text := self._ctx.texts.find(f"instructions.{reader}.{name}"):
                return text
        return self._ctx.texts(f"instructions.{reader}.message")
