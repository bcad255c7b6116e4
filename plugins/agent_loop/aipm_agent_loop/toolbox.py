"""The tools a model may call, and their calls: the same road as for every other caller."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

import anyio
from aipm_ui_gateway.api import Outcome, agent_state

from aipm_agent_loop.api import ToolCall, ToolMessage, ToolSpec
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.redaction import redact_json
from aipm_agent_loop.runs import Run, RunOver, Runs
from aipm_core import AnyTool, Json, PluginContext, Reply, Request, Session

_OUTCOMES: dict[str, Outcome] = {
    "denied_by_policy": "blocked",
    "no_confirmer": "blocked",
    "confirmation_denied": "denied",
    "confirmation_expired": "expired",
}


class Toolbox:
    """Lists and calls tools for the agent of a session."""

    def __init__(self, ctx: PluginContext[AgentLoopConfig], runs: Runs) -> None:
        self._ctx = ctx
        self._runs = runs

    async def specs(self, caller: Session) -> list[ToolSpec]:
        """List the tools that this caller may use; a call of any other one is refused."""
        gateway = self._ctx.gateway
        return [
            self._spec(tool)
            for tool in gateway.catalog("in_process")
            if await gateway.refusal(tool, caller) is None
        ]

    def _spec(self, tool: AnyTool) -> ToolSpec:
        schema = dict(self._ctx.gateway.schema(tool.name, "in_process"))
        properties = {k: v for k, v in schema["properties"].items() if k != "session_token"}
        return ToolSpec(
            name=tool.name,
            description=tool.description,
            schema={**schema, "properties": properties},
        )

    async def run(self, run: Run, caller: Session, calls: Sequence[ToolCall]) -> None:
        """Call every tool of one response; each is judged and confirmed on its own."""
        async with anyio.create_task_group() as tasks:
            for call in calls:
                tasks.start_soon(self._call, run, caller, call)

    async def _call(self, run: Run, caller: Session, call: ToolCall) -> None:
        with suppress(RunOver):  # then nobody wants the result any more
            await self._call_for(run, caller, call)

    async def _call_for(self, run: Run, caller: Session, call: ToolCall) -> None:
        executing = agent_state(run.session_id, "executing_tool")
        reply = await self._ctx.gateway.call(
            Request(
                tool=call.name,
                arguments=dict(call.args),
                session=caller,
                audience="in_process",
                call_id=call.id,
                started=partial(
                    self._ctx.store.write, lambda tx: self._runs.tell(tx, run, executing)
                ),
            )
        )
        result = ToolMessage(
            call_id=call.id,
            name=call.name,
            status=_outcome(reply),
            reply=redact_json(_content(reply)),
        )
        await self._ctx.store.write(lambda tx: self._runs.result(tx, run, result))


def _outcome(reply: Reply) -> Outcome:
    return _OUTCOMES.get(reply.error.code, "failed") if reply.error else "ok"


def _content(reply: Reply) -> Json:
    return reply.replaced if reply.replaced is not None else reply.envelope()
