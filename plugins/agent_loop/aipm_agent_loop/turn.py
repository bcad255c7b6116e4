"""One run: ask the model, call its tools, say its message, until it has nothing more to do."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence

import anyio
from aipm_ui_gateway.api import agent_state

from aipm_agent_loop.api import Prompt, Provider, ToolCall, ToolSpec
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.history import History
from aipm_agent_loop.input_queue import cancel_topic
from aipm_agent_loop.response import ResponseStream
from aipm_agent_loop.runs import Ending, Run, RunOver, Runs
from aipm_agent_loop.toolbox import Toolbox
from aipm_core import CallError, PluginContext, Session

logger = logging.getLogger(__name__)
_RECHECK_SECONDS = 3600.0


class _Stopping(Exception):
    """The program stops; nothing new is begun."""


class TurnMaker:
    """Holds what all turns share."""

    def __init__(
        self,
        ctx: PluginContext[AgentLoopConfig],
        history: History,
        runs: Runs,
        toolbox: Toolbox,
    ) -> None:
        self.ctx = ctx
        self.history = history
        self.runs = runs
        self.toolbox = toolbox
        self.provider: Provider | None = None

    def make(self, run: Run, caller: Session | None) -> Turn:
        """Make the turn of a run."""
        return Turn(self, run, caller)


class Turn:
    """One run on its way."""

    def __init__(self, maker: TurnMaker, run: Run, caller: Session | None) -> None:
        self._ctx = maker.ctx
        self._maker = maker
        self._runs = maker.runs
        self._run = run
        self._caller = caller
        self._calls = 0
        self._tokens = 0
        self._earlier_tokens = 0

    async def play(self) -> None:
        """Work until the run has ended, one way or another."""
        ending: tuple[Ending, CallError | None] = ("cancelled", None)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch, tasks.cancel_scope)
            ending = await self._outcome()
            tasks.cancel_scope.cancel()
        await self._ctx.store.write(
            lambda tx: self._runs.end(tx, self._run, *ending, tokens=self._tokens)
        )

    async def _outcome(self) -> tuple[Ending, CallError | None]:
        try:
            await self._steps()
        except RunOver:
            return "interrupted", None
        except _Stopping:
            return "interrupted", self._ctx.refuse("run_interrupted", 503)
        except CallError as error:
            return "failed", error
        except TimeoutError:
            return "failed", self._ctx.refuse("model_timeout", 504)
        except Exception:
            incident = f"inc_{secrets.token_hex(6)}"
            logger.exception("a run failed [%s]", incident)
            return "failed", self._ctx.refuse("provider_error", 502, incident=incident)
        return "completed", None

    async def _watch(self, scope: anyio.CancelScope) -> None:
        """Stop the run when somebody asks for it, in whatever process."""

        async def look() -> bool | None:
            row = await self._ctx.store.one(
                "select 1 from agent_runs where id = ? and status = 'running' "
                "and cancel_requested = 0",
                self._run.id,
            )
            return True if row is None else None

        topics = (cancel_topic(self._run.session_id),)
        while not self._ctx.store.ending:
            if await self._ctx.store.wait_until(topics, look, _RECHECK_SECONDS):
                scope.cancel()
                return

    async def _steps(self) -> None:
        if self._caller is None:
            raise self._ctx.refuse("session_not_found", 404)
        tools = await self._maker.toolbox.specs(self._caller)
        self._earlier_tokens = await self._runs.session_tokens(self._run.session_id)
        for _ in range(self._ctx.config.max_steps):
            if self._ctx.store.ending:
                raise _Stopping
            calls = await self._respond(self._caller, tools)
            if not calls:
                return
            self._spend_calls(len(calls))
            await self._maker.toolbox.run(self._run, self._caller, calls)
            await self._ctx.store.write(
                lambda tx: self._runs.tell(
                    tx, self._run, agent_state(self._run.session_id, "thinking")
                )
            )
        raise self._ctx.refuse("budget_exceeded", 429, limit="max_steps")

    async def _respond(self, caller: Session, tools: Sequence[ToolSpec]) -> list[ToolCall]:
        """Hear one response of the model out; return the tools it wants."""
        provider = self._maker.provider
        if provider is None:
            raise RuntimeError("no provider was chosen")
        prompt = Prompt(
            session=caller,
            turn=self._run.number,
            instructions=self._instructions(),
            messages=await self._maker.history.read(self._ctx.store, self._run.session_id),
            tools=tuple(tools),
        )
        response = ResponseStream(self._ctx, self._runs, self._maker.history, self._run)
        async with asyncio.timeout(self._ctx.config.model_seconds):
            await response.consume(provider.respond(prompt))
        self._spend_tokens(response.tokens)
        if not response.calls and not response.said:
            raise self._ctx.refuse("empty_response", 502)
        return response.calls

    def _instructions(self) -> str:
        own = self._ctx.config.instructions
        return "\n\n".join(filter(None, (self._ctx.texts("instructions.agent"), own)))

    def _spend_calls(self, number: int) -> None:
        self._calls += number
        if self._calls > self._ctx.config.max_tool_calls:
            raise self._ctx.refuse("budget_exceeded", 429, limit="max_tool_calls")

    def _spend_tokens(self, tokens: int) -> None:
        self._tokens += tokens
        if self._tokens > self._ctx.config.max_tokens:
            raise self._ctx.refuse("budget_exceeded", 429, limit="max_tokens")
        if self._earlier_tokens + self._tokens > self._ctx.config.max_session_tokens:
            raise self._ctx.refuse("budget_exceeded", 429, limit="max_session_tokens")
