"""The life of a run: taken from the queue, then completed, failed, cancelled or interrupted."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aipm_policy.api import Confirmation, Confirmations
from aipm_ui_gateway.api import Outcome, ToolCallResult, agent_state, error, tool_call_result

from aipm_agent_loop.api import Image, ToolCall, ToolMessage, UserMessage
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.history import History
from aipm_core import CallError, Event, PluginContext, Reader, Tx, new_id

Ending: TypeAlias = Literal["completed", "failed", "cancelled", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One input being worked on."""

    id: str
    session_id: str
    number: int


class RunOver(Exception):
    """Somebody else has ended this run; what it still wants to write has no place."""


class Runs:
    """Every transition of a run, each in one transaction with the events that tell of it."""

    def __init__(
        self,
        ctx: PluginContext[AgentLoopConfig],
        history: History,
        confirmations: Confirmations | None,
    ) -> None:
        self._ctx = ctx
        self._history = history
        self._confirmations = confirmations

    async def take(self, tx: Tx, session_id: str, owner: str) -> Run | None:
        """Begin a run with the next input; without one, give the session up."""
        row = await tx.one(
            "update agent_inputs set status = 'taken' where session_id = ? and number = (select "
            "min(number) from agent_inputs where session_id = ? and status = 'queued') returning *",
            *(session_id, session_id),
        )
        if row is None:
            await self.release(tx, session_id, owner)
            return None
        count = await tx.one(
            "update agent_threads set runs = runs + 1 where session_id = ? returning runs",
            session_id,
        )
        run = Run(id=new_id("run"), session_id=session_id, number=count["runs"] if count else 1)
        await tx.run(
            "insert into agent_runs (id, session_id, number, status, started_at) "
            "values (?, ?, ?, 'running', ?)",
            *(run.id, session_id, run.number, self._ctx.now()),
        )
        images = tuple(Image(**image) for image in json.loads(row["images"]))
        said = UserMessage(text=row["text"], images=images)
        await self._history.append(tx, session_id, run.id, said)
        await self._ctx.events.record(tx, agent_state(session_id, "thinking"))
        return run

    async def release(self, tx: Tx, session_id: str, owner: str) -> None:
        """Let go of a session."""
        await tx.run(
            "update agent_threads set owner = null where session_id = ? and owner = ?",
            *(session_id, owner),
        )

    async def check(self, tx: Tx, run: Run) -> None:
        """Make sure that the run is still this worker's to continue."""
        if await tx.one("select 1 from agent_runs where id = ? and status = 'running'", run.id):
            return
        raise RunOver(run.id)

    async def tell(self, tx: Tx, run: Run, *events: Event) -> None:
        """Record events of a run that goes on."""
        await self.check(tx, run)
        for event in events:
            await self._ctx.events.record(tx, event)

    async def result(self, tx: Tx, run: Run, result: ToolMessage) -> None:
        """Write the result of a call and tell of it."""
        await self.check(tx, run)
        if await self._history.close_call(tx, result):
            await self._ctx.events.record(tx, _result_event(run.session_id, result))

    async def session_tokens(self, session_id: str) -> int:
        """Return how many tokens the earlier runs of a session took."""
        row = await self._ctx.store.one(
            "select tokens from agent_threads where session_id = ?", session_id
        )
        return int(row["tokens"]) if row else 0

    async def end(
        self,
        tx: Tx,
        run: Run,
        ending: Ending,
        problem: CallError | None = None,
        *,
        tokens: int = 0,
    ) -> None:
        """Close a run, unless it is over: no call stays open, the person may speak again."""
        changed = await tx.run(
            "update agent_runs set status = ?, ended_at = ?, tokens = ? "
            "where id = ? and status = 'running'",
            *(ending, self._ctx.now(), tokens, run.id),
        )
        if not changed:
            return
        await tx.run(
            "update agent_threads set tokens = tokens + ? where session_id = ?",
            *(tokens, run.session_id),
        )
        outcome: Outcome = "cancelled" if ending == "cancelled" else "failed"
        for call in await self._history.open_calls(tx, run.id):
            result = self._unfinished(call, ending, outcome)
            await self._history.close_call(tx, result)
            await self._ctx.events.record(tx, _result_event(run.session_id, result))
        if self._confirmations is not None:
            await self._confirmations.withdraw(tx, run.session_id)
        if problem is not None:
            told = error(run.session_id, problem.code, str(problem))
            await self._ctx.events.record(tx, told)
        await self._ctx.events.record(tx, agent_state(run.session_id, "waiting_for_input"))

    def _unfinished(self, call: ToolCall, ending: Ending, outcome: Outcome) -> ToolMessage:
        code = ending if ending in ("cancelled", "interrupted") else "failed"
        text = self._ctx.texts(f"errors.call_{code}", tool=call.name)
        failure = {"code": f"call_{code}", "status": 500, "message": text}
        return ToolMessage(
            call_id=call.id, name=call.name, status=outcome, reply={"error": failure}
        )

    async def recover(self, tx: Tx, session_id: str) -> None:
        """Close the run a crash has left behind."""
        row = await self.running(tx, session_id)
        if row is not None:
            problem = self._ctx.refuse("run_interrupted", 500)
            await self.end(tx, row, "interrupted", problem)

    async def running(self, db: Reader, session_id: str) -> Run | None:
        """Find the run of a session that has not ended."""
        row = await db.one(
            "select * from agent_runs where session_id = ? and status = 'running'", session_id
        )
        return Run(id=row["id"], session_id=session_id, number=row["number"]) if row else None

    async def asked(self, tx: Tx, confirmation: Confirmation) -> None:
        """Tell that the agent waits for a person, when a run of it does."""
        session_id = confirmation.session_id
        if await self.running(tx, session_id) is not None:
            await self._ctx.events.record(tx, agent_state(session_id, "awaiting_confirmation"))


_MAX_SHOWN_BYTES = 64 * 1024


def _result_event(session_id: str, result: ToolMessage) -> Event:
    reply = result.reply
    failure = reply.get("error") if isinstance(reply, dict) else None
    value = reply.get("result") if isinstance(reply, dict) else reply
    text = json.dumps(value, ensure_ascii=False)
    if len(text) > _MAX_SHOWN_BYTES:
        value = {"truncated": True, "preview": text[:_MAX_SHOWN_BYTES]}
    payload = ToolCallResult(
        toolName=result.name,
        status=result.status,
        toolCallId=result.call_id,
        result=value,
        error=failure,
    )
    return tool_call_result(session_id, payload)
