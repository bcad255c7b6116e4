"""The rule that task sessions do not talk."""

from __future__ import annotations

from aipm_core import Call, PermissionDenied, PluginContext, Trait
from aipm_delegation.config import DelegationConfig


class Separation:
    """Closes the talking tools to task sessions, and says where to turn instead."""

    def __init__(self, ctx: PluginContext[DelegationConfig]) -> None:
        self._ctx = ctx

    async def check(self, call: Call) -> None:
        """Refuse a task session that wants to talk."""
        session = call.session
        if session is None or session.purpose != "task" or Trait.TALKS not in call.tool.traits:
            return
        text = self._ctx.texts(
            "errors.chat_session_required", tool=call.tool.name, purpose=session.purpose
        )
        raise PermissionDenied(text, code="chat_session_required")
