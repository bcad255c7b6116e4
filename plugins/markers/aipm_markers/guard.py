"""Lets a chat session touch tasks only when the last message it read asks for it, and only once."""

from __future__ import annotations

from aipm_file_chat.api import Chat, Message

from aipm_core import Call, PluginContext, Reader, Session, Tx
from aipm_markers.config import MarkersConfig
from aipm_markers.grammar import GUARDED

_CODES = {
    "request_task": "task_request_marker_required",
    "notify_task_session": "task_notify_marker_required",
    "update_task_from_chat": "task_adjust_marker_required",
}


class MarkerGuard:
    """An authorizer that refuses early, and a permission that is spent with the call.

    Only the second one decides: it runs in the transaction of the call, so two calls cannot use
    one marker and a call that fails leaves it unused.
    """

    def __init__(self, ctx: PluginContext[MarkersConfig], chat: Chat) -> None:
        self._ctx = ctx
        self._chat = chat

    async def check(self, call: Call) -> None:
        """Refuse a call that could not spend a marker anyway; change nothing."""
        session = call.session
        if session is not None and _is_guarded(session, call.tool.name):
            await self._permission(self._ctx.store, session, call.tool.name)

    async def spend(self, tx: Tx, session: Session, tool: str) -> str | None:
        """Use up the marker of the last message this session read; return who sent it."""
        if not _is_guarded(session, tool):
            return None
        message = await self._permission(tx, session, tool)
        await tx.run(
            "update message_markers set spent_at = ?, spent_by = ? "
            "where message_id = ? and action = ?",
            *(self._ctx.now(), session.id, message.id, tool),
        )
        return message.sender_id

    async def _permission(self, db: Reader, session: Session, tool: str) -> Message:
        newest = await self._chat.newest_delivered(db, session)
        if newest is None:
            raise self._ctx.refuse(_CODES[tool], 403)
        marker = await db.one(
            "select spent_at from message_markers where message_id = ? and action = ?",
            *(newest.id, tool),
        )
        if marker is None:
            raise self._ctx.refuse(_CODES[tool], 403)
        if marker["spent_at"] is not None:
            raise self._ctx.refuse("marker_already_used", 409)
        return newest


def _is_guarded(session: Session, tool: str) -> bool:
    return session.purpose == "chat" and tool in GUARDED
