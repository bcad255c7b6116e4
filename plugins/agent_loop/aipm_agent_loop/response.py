"""Listens to a provider's parts and passes them on: pieces as they come, messages once whole."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

import anyio
from aipm_ui_gateway.api import MessageMetadata, message_delta, new_message

from aipm_agent_loop.api import AssistantMessage, Part, Text, TextDelta, ToolCall, Usage
from aipm_agent_loop.config import AgentLoopConfig
from aipm_agent_loop.history import History
from aipm_agent_loop.redaction import redact_json, settled
from aipm_agent_loop.runs import Run, Runs
from aipm_core import PluginContext, Tx, new_id, redact

_SEND_INTERVAL_SECONDS = (
    0.05  # between pieces that go out: a person reads slower than a model writes
)
_CHARACTERS_PER_TOKEN = 4  # a guess, for providers that do not count


class ResponseStream:
    """One response of the model."""

    def __init__(
        self, ctx: PluginContext[AgentLoopConfig], runs: Runs, history: History, run: Run
    ) -> None:
        self._ctx = ctx
        self._runs = runs
        self._history = history
        self._run = run
        self._began = anyio.current_time()
        self._message_id = new_id("msg")
        self._text = ""
        self._unsent = ""
        self._last_sent = 0.0
        self._counted: int | None = None
        self._heard = 0
        self.calls: list[ToolCall] = []
        self.said = False

    @property
    def tokens(self) -> int:
        """How many tokens the response took, counted or guessed."""
        guess = self._heard // _CHARACTERS_PER_TOKEN
        return guess if self._counted is None else self._counted

    async def consume(self, parts: AsyncGenerator[Part]) -> None:
        """Consume the response stream and store it."""
        async with aclosing(parts):
            await self._listen(parts)
        await self._close()

    async def _listen(self, parts: AsyncGenerator[Part]) -> None:
        async for part in parts:
            match part:
                case TextDelta():
                    await self._piece(part.text)
                case Text():
                    self._heard += len(part.text)
                    await self._say(redact(part.text), None, ())
                case ToolCall():
                    self.calls.append(_redacted(part))
                case Usage():
                    self._counted = (self._counted or 0) + part.tokens
                case _:
                    raise TypeError(f"a provider gave {type(part).__name__}, which is no part")

    async def _piece(self, text: str) -> None:
        self._heard += len(text)
        self._text += text
        self._unsent += text
        if anyio.current_time() - self._last_sent >= _SEND_INTERVAL_SECONDS:
            await self._send(settled(self._unsent))

    async def _send(self, characters: int) -> None:
        piece, self._unsent = self._unsent[:characters], self._unsent[characters:]
        if piece:
            event = message_delta(self._run.session_id, self._message_id, redact(piece))
            await self._ctx.store.write(lambda tx: self._runs.tell(tx, self._run, event))
            self._last_sent = anyio.current_time()

    async def _close(self) -> None:
        await self._send(len(self._unsent))
        calls = tuple(self.calls)
        if self._text:
            await self._say(redact(self._text), self._message_id, calls)
        elif calls:
            await self._keep(AssistantMessage(text="", calls=calls))

    async def _say(self, text: str, message_id: str | None, calls: tuple[ToolCall, ...]) -> None:
        latency = round((anyio.current_time() - self._began) * 1000)
        event = new_message(
            self._run.session_id,
            text,
            metadata=MessageMetadata(latency_ms=latency),
            message_id=message_id or new_id("msg"),
        )

        async def say(tx: Tx) -> None:
            await self._runs.tell(tx, self._run, event)
            await self._append(tx, AssistantMessage(text=text, calls=calls))

        await self._ctx.store.write(say)
        self.said = True

    async def _keep(self, message: AssistantMessage) -> None:
        async def keep(tx: Tx) -> None:
            await self._runs.check(tx, self._run)
            await self._append(tx, message)

        await self._ctx.store.write(keep)

    async def _append(self, tx: Tx, message: AssistantMessage) -> None:
        await self._history.append(tx, self._run.session_id, self._run.id, message)


def _redacted(call: ToolCall) -> ToolCall:
    """Take secrets out before the call is kept, shown or made: no tool offered here wants one."""
    return replace(call, name=redact(call.name), args=redact_json(dict(call.args)))
