"""One AG-UI run: what the client sent becomes commands, what happens becomes AG-UI events."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
from ag_ui import core as ag
from aipm_sessions.api import Agent

from aipm_core import CallError, Json, PluginContext
from aipm_ui_gateway.ag_ui.events import Translation
from aipm_ui_gateway.ag_ui.threads import Thread, Threads
from aipm_ui_gateway.config import UiGatewayConfig
from aipm_ui_gateway.connection import Connection
from aipm_ui_gateway.ui_commands.dispatch import Dispatch

_QUIET_SECONDS = 0.1  # of silence after which no further question of the same turn comes


class AgUiRuns:
    """Starts runs in a person's threads."""

    def __init__(
        self, ctx: PluginContext[UiGatewayConfig], dispatch: Dispatch, threads: Threads
    ) -> None:
        self._ctx = ctx
        self._dispatch = dispatch
        self._threads = threads

    async def events(
        self, connection: Connection, given: ag.RunAgentInput, thread: Thread
    ) -> AsyncGenerator[ag.BaseEvent]:
        """Carry out one run and yield its events to the end."""
        person, asked = connection.person, await self._open_questions(thread)
        translation = Translation(given, frozenset(asked.values()))
        for event in translation.started():
            yield event
        try:
            thread = await self._begin(person, given, thread, asked)
        except CallError as error:
            for event in translation.failed(error.code, str(error)):
                yield event
            return
        connection.attach(thread.session_id, thread.place)
        while not translation.over:
            for event in await self._next(connection, translation):
                yield event

    async def _next(self, connection: Connection, translation: Translation) -> list[ag.BaseEvent]:
        if translation.asking:
            with anyio.move_on_after(_QUIET_SECONDS) as quiet:
                return translation.of(await connection.receive())
            if quiet.cancelled_caught:
                return translation.interrupted()
        return translation.of(await connection.receive())

    async def _begin(
        self, person: Agent, given: ag.RunAgentInput, thread: Thread, asked: Mapping[str, str]
    ) -> Thread:
        if given.run_id == thread.run_id:  # the same run again: told once more from its beginning
            await self._answer(person, given.resume or [], thread)  # a crash may have left some
            return thread
        place = await self._ctx.events.last_seq(thread.session_id)
        new = replace(thread, run_id=given.run_id, place=place)
        if given.resume:
            if _answers(given.resume).keys() != asked.keys():
                raise self._ctx.refuse("interrupts_unanswered", 409)
            if await self._answer(person, given.resume, new):
                raise self._ctx.refuse("message_already_sent", 409)
        elif asked:
            raise self._ctx.refuse("interrupts_unanswered", 409)
        else:
            await self._say(person, given, new)
        return new

    async def _answer(self, person: Agent, resume: list[ag.ResumeEntry], thread: Thread) -> bool:
        """Answer every question; say whether one had been answered in this way before."""
        repeated = False
        for confirmation_id, payload in _answers(resume).items():
            told = ("provideConfirmation", payload, confirmation_id)
            repeated |= await self._command(person, thread, *told)
        return repeated

    async def _say(self, person: Agent, given: ag.RunAgentInput, thread: Thread) -> None:
        states = await self._ctx.events.kept(thread.session_id, "onAgentStateChange")
        if states and states[-1].payload["state"] not in {"waiting_for_input", "error"}:
            raise self._ctx.refuse("run_in_progress", 409)
        last = given.messages[-1] if given.messages else None
        if not isinstance(last, ag.UserMessage):
            raise self._ctx.refuse("message_required", 400)
        # Only the newest words count: a history that a client sends is a client's claim.
        payload = {**_input(last), "sessionId": thread.session_id}
        if await self._command(person, thread, "submitUserInput", payload, last.id):
            raise self._ctx.refuse("message_already_sent", 409)

    async def _command(
        self,
        person: Agent,
        thread: Thread,
        type: str,  # noqa: A002 - the name on the wire
        payload: Mapping[str, Json],
        about: str,
    ) -> bool:
        """Give a command, and note in the same transaction whose run it begins.

        Says whether it was a repetition, which has no effect.
        """
        # A client's message id is a name of its own: two threads may use the same.
        key = hashlib.sha256(f"{thread.session_id}\n{type}\n{about}".encode()).hexdigest()
        order = {"id": f"ag-ui:{key}", "type": type, "payload": dict(payload)}
        begun = partial(self._threads.begun, person=person, thread=thread)
        answer = await self._dispatch.run(person, order, alongside=begun)
        if not answer.done:
            code, message = answer.reply["code"], answer.reply["message"]
            raise CallError(message, code=code, status=answer.status)
        return answer.repeated

    async def _open_questions(self, thread: Thread) -> dict[str, str]:
        """Return the confirmations nobody has answered, with the calls they belong to."""
        asked: dict[str, str] = {}
        kept = await self._ctx.events.kept(
            thread.session_id, "onToolCallRequest", "onConfirmationResolved"
        )
        for event in kept:
            confirmation_id = event.payload["confirmationId"]
            if event.type == "onToolCallRequest":
                asked[confirmation_id] = event.payload.get("toolCallId") or confirmation_id
            else:
                asked.pop(confirmation_id, None)
        return asked


def _answers(resume: list[ag.ResumeEntry]) -> dict[str, dict[str, Json]]:
    """Read a client's answers; anything that is not a clear yes is a no."""
    answers: dict[str, dict[str, Json]] = {}
    for entry in resume:
        told = entry.payload if isinstance(entry.payload, dict) else {}
        approved = entry.status == "resolved" and told.get("approved") is True
        answer: dict[str, Json] = {"confirmationId": entry.interrupt_id, "approved": approved}
        reason = "cancelled" if entry.status == "cancelled" else told.get("reason")
        if isinstance(reason, str):
            answer["reason"] = reason
        answers[entry.interrupt_id] = answer
    return answers


def _input(message: ag.UserMessage) -> dict[str, Json]:
    """Turn a user message into the payload of ``submitUserInput``."""
    if isinstance(message.content, str):
        return {"text": message.content}
    texts = [part.text for part in message.content if isinstance(part, ag.TextPart)]
    others: list[Any] = [part for part in message.content if not isinstance(part, ag.TextPart)]
    return {"text": "\n".join(texts), "attachments": [_attachment(part) for part in others]}


def _attachment(part: Any) -> dict[str, Json]:  # noqa: ANN401
    source = part.source
    if not isinstance(source, ag.DataSource):  # nothing is fetched on a client's word
        return {"type": "link", "data": ""}
    return {"type": part.type, "data": source.value, "mimeType": source.mime_type}
