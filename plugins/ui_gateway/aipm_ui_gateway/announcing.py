"""The tool ``announce``: something that everybody should read."""

from __future__ import annotations

from pydantic import Field

from aipm_core import Access, AnyTool, Arguments, Call, Json, PluginContext, Tx, tool
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.event_types import system_message


class Announce(Arguments):
    """Arguments of ``announce``."""

    content: str = Field(max_length=4000, pattern=r"\S")


class Announcing:
    """It reaches the people of every project, so it is for managers."""

    def __init__(self, ctx: PluginContext[UiGatewayConfig]) -> None:
        self._ctx = ctx

    def announce_tool(self) -> AnyTool:
        """Return the tool."""
        return tool(self.announce, access=Access.MANAGER, audience="ui")

    async def announce(self, call: Call, args: Announce) -> Json:
        """Tell something to every connected user interface."""

        async def unit(tx: Tx) -> Json:
            await self._ctx.events.record(tx, system_message(args.content))
            return {"content": args.content}

        return await call.write(self._ctx.store, unit)
