"""What people do with notifications: leave one."""

from __future__ import annotations

from functools import partial
from typing import Literal

from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, tool
from aipm_notifications.config import NotificationsConfig
from aipm_notifications.sender import Sender, SentType


class Notify(Arguments):
    """Arguments of ``notify``."""

    project_id: str = Field(max_length=64)
    agent_id: str = Field(max_length=64)
    type: SentType
    action: Literal["cancel", "pause", "blocked", "resume"] | None = None
    message: str | None = Field(default=None, max_length=4000)
    audience: Literal["task", "chat"] | None = None


class PeoplesTools:
    """The same as ``aipm notify``, in the name of whoever calls."""

    def __init__(self, ctx: PluginContext[NotificationsConfig], sender: Sender) -> None:
        self._ctx = ctx
        self._sender = sender

    def notify_tool(self) -> AnyTool:
        """Return the tool."""
        return tool(self.notify, access=Access.PERSON, audience="ui")

    async def notify(self, call: Call, args: Notify) -> Json:
        """Tell an agent something, or stop it."""
        await self._sender.check_member(args.agent_id, args.project_id)
        return await self._sender.send(
            args.agent_id,
            args.project_id,
            type=args.type,
            action=args.action,
            message=args.message,
            audience=args.audience,
            write=partial(call.write, self._ctx.store),
        )
