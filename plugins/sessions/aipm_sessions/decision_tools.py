"""The tool ``answer_item``: a person's yes or no to whatever asks for one."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, tool
from aipm_sessions.config import SessionsConfig
from aipm_sessions.given_by_plugins import CollectedDecisions


class AnswerItem(Arguments):
    """Arguments of ``answer_item``. ``reason`` goes on record, ``note`` to the agent."""

    item_id: str = Field(max_length=80)
    approved: bool
    reason: str | None = Field(default=None, max_length=4000)
    note: str | None = Field(default=None, max_length=4000)
    scope: Literal["once", "session", "always"] = "once"


class DecisionTools:
    """Passes the answer on to the plugin that asked."""

    def __init__(self, ctx: PluginContext[SessionsConfig], decisions: CollectedDecisions) -> None:
        self._ctx = ctx
        self._decisions = decisions

    def answer_tool(self) -> AnyTool:
        """Return the tool."""
        return tool(self.answer_item, access=Access.PERSON, audience="ui")

    async def answer_item(self, call: Call, args: AnswerItem) -> Json:
        """Answer what waits in the inbox."""
        await self._decisions.answer(
            args.item_id,
            approved=args.approved,
            by=call.caller.agent_id,
            reason=args.reason,
            note=args.note,
            scope=args.scope,
        )
        return {"item_id": args.item_id, "approved": args.approved}
