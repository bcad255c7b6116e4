"""The rule that task sessions do not talk."""

from __future__ import annotations

from aipm_core import Call, PermissionDenied, PluginContext
from aipm_delegation.config import DelegationConfig

TALKING = frozenset(
    {
        "broadcast_message",
        "end_conversation",
        "get_pending_messages",
        "respond_chat",
        "respond_conversation_message",
        "send_conversation_message",
        "send_message",
        "start_conversation",
    }
)
"""Tools of other plugins, by name: neither of them knows of this rule."""


class Separation:
    """Closes the talking tools to task sessions, and says where to turn instead."""

    def __init__(self, ctx: PluginContext[DelegationConfig]) -> None:
        self._ctx = ctx

    async def check(self, call: Call) -> None:
        """Refuse a task session that wants to talk."""
        session = call.session
        if session is None or session.purpose != "task" or call.tool.name not in TALKING:
            return
        text = self._ctx.texts(
            "errors.chat_session_required", tool=call.tool.name, purpose=session.purpose
        )
        raise PermissionDenied(text, code="chat_session_required")
