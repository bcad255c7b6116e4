"""The ``help`` tool: what this caller may use now, and for the rest why not."""

from __future__ import annotations

from aipm_core import AnyTool, Arguments, Call, InvalidArguments, Json, PluginContext, Session
from aipm_sessions.config import SessionsConfig


class Help(Arguments):
    """Arguments of ``help``."""

    tool_name: str | None = None


class HelpTool:
    """Answers from the catalogue and the rules that really apply."""

    def __init__(self, ctx: PluginContext[SessionsConfig]) -> None:
        self._ctx = ctx

    async def help(self, call: Call, args: Help) -> Json:
        """List the tools."""
        catalog = self._ctx.gateway.catalog(call.request.audience)
        if args.tool_name is None:
            return {"tools": [await self._line(tool, call.session) for tool in catalog]}
        for tool in catalog:
            if tool.name == args.tool_name:
                line = await self._line(tool, call.session)
                schema = self._ctx.gateway.schema(tool.name, call.request.audience)
                return {**line, "description": tool.description, "parameters": schema}
        raise InvalidArguments(self._ctx.texts("errors.unknown_tool", tool=args.tool_name))

    async def _line(self, tool: AnyTool, session: Session | None) -> dict[str, Json]:
        line: dict[str, Json] = {"name": tool.name, "title": tool.title}
        refusal = await self._ctx.gateway.refusal(tool, session)
        if refusal is None:
            return {**line, "available": True}
        return {**line, "available": False, "reason": str(refusal)}
