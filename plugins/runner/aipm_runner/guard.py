"""The programs' own tools: each use passes the road of every other call before it happens."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from aipm_core import Access, AnyTool, Call, Json, PluginContext, Request, Session, Tool, Trait
from aipm_runner.api import NATIVE_TOOLS, Answer
from aipm_runner.config import RunnerConfig

logger = logging.getLogger(__name__)
PREFIX = "native:"
_READING = {"Read", "Search", "Plan"}
_DESTRUCTIVE = {"Bash", "Delete", "Move"}
_OPEN = {
    "type": "object",
    "properties": {"command": {}, "path": {}, "url": {}, "query": {}},
    "additionalProperties": True,
}


class NativeGuard:
    """Asks the gates, the rules and, where they say so, a person. In doubt nothing runs."""

    def __init__(self, ctx: PluginContext[RunnerConfig]) -> None:
        self._ctx = ctx

    def tools(self) -> Iterable[AnyTool]:
        """Return what stands for the programs' own tools; to run them is the programs' part."""
        for name in NATIVE_TOOLS:
            yield Tool(
                name=PREFIX + name,
                run=_permit,
                access=Access.SESSION,
                arguments=_OPEN,
                read_only=name in _READING,
                destructive=name in _DESTRUCTIVE,
                audience="native",
                traits=frozenset({Trait.KEEPS_NO_RESULT}),
            )

    async def ask(self, session: Session, tool: str, arguments: Mapping[str, Json]) -> Answer:
        """Return whether a program may use a tool now, and what to tell the agent if not."""
        name, gateway = PREFIX + tool, self._ctx.gateway
        if gateway.find_tool(name, "native") is None:
            return self._no("unknown_tool", tool=tool)
        request = Request(tool=name, arguments=arguments, session=session, audience="native")
        try:
            reply = await gateway.call(request)
        except Exception:
            logger.exception("the use of %s could not be judged", name)
            return self.unjudged(tool)
        if reply.replaced is not None:
            return Answer(allowed=False, text=reply.replaced)
        if reply.error is not None:
            return self._no("refused", tool=tool, reason=reply.error.message)
        if reply.question is not None:
            return self._no("not_judged", tool=tool)
        return Answer(allowed=True)

    def unjudged(self, tool: str) -> Answer:
        """Return what holds where nobody can judge: no, or no more than reading."""
        if may_read_unjudged(self._ctx.config, tool):
            return Answer(allowed=True)
        return self._no("not_judged", tool=tool)

    def _no(self, key: str, **values: object) -> Answer:
        return Answer(allowed=False, text=self._ctx.texts(f"guard.{key}", **values))


def may_read_unjudged(config: RunnerConfig, tool: str) -> bool:
    """Return whether the settings let a program use a tool that nobody could judge."""
    return config.guard_on_error == "allow-reads" and tool in _READING


async def _permit(call: Call, arguments: object) -> Json:
    return {"allowed": True}
